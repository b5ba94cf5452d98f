/// The executables, in the order they are started.
enum ProgramName: String, CaseIterable, Sendable {
    case bus = "parlor-bus"
    case accounts = "parlor-accounts"
    case rooms = "parlor-rooms"
    case messaging = "parlor-messaging"
    case elements = "parlor-elements"
    case push = "parlor-push"
    case gateway = "parlor-gateway"

    /// The schedule's name for it: the bus may be another program.
    var title: String { self == .bus ? "the bus" : rawValue }
    /// The name of a service, its database, and its schema on a server.
    var service: String { String(rawValue.dropFirst("parlor-".count)) }

    static let services: [ProgramName] = [.accounts, .rooms, .messaging, .elements, .push]
    /// The programs that write under load.
    static let writers: [ProgramName] = [.rooms, .messaging, .elements]
    static let onBus: [ProgramName] = services + [.gateway]
}

/// The kind of bus between the programs.
enum BusKind: String, Sendable {
    case parlor, nats

    var scheme: String { self == .parlor ? "tcp" : "nats" }
}

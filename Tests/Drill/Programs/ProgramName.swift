/// The executables, in the order they are started.
enum ProgramName: String, CaseIterable, Sendable {
    case bus = "parlor-bus"
    case accounts = "parlor-accounts"
    case rooms = "parlor-rooms"
    case messaging = "parlor-messaging"
    case elements = "parlor-elements"
    case push = "parlor-push"
    case gateway = "parlor-gateway"

    /// As the schedule calls it: the bus may be another's.
    var title: String { self == .bus ? "the bus" : rawValue }
    /// The name of a service: of its database, and of its schema on a server.
    var service: String { String(rawValue.dropFirst("parlor-".count)) }

    static let services: [ProgramName] = [.accounts, .rooms, .messaging, .elements, .push]
    /// Those that write while the load is on.
    static let writers: [ProgramName] = [.rooms, .messaging, .elements]
    static let onBus: [ProgramName] = services + [.gateway]
}

/// What carries messages between the programs.
enum BusKind: String, Sendable {
    case parlor, nats

    var scheme: String { self == .parlor ? "tcp" : "nats" }
}

import ParlorServices

/// An executable.
struct ProgramName: RawRepresentable, Hashable, Sendable {
    let rawValue: String

    static let bus = ProgramName(rawValue: "parlor-bus")
    static let accounts = ProgramName(rawValue: "parlor-accounts")
    static let rooms = ProgramName(rawValue: "parlor-rooms")
    static let messaging = ProgramName(rawValue: "parlor-messaging")
    static let elements = ProgramName(rawValue: "parlor-elements")
    static let gateway = ProgramName(rawValue: "parlor-gateway")

    static let services = ParlorServices.all.map { ProgramName(rawValue: "parlor-\($0.name)") }
    /// The programs that write under load.
    static let writers: [ProgramName] = [.rooms, .messaging, .elements]
    static let onBus: [ProgramName] = services + [.gateway]
    /// In the order in which they are started.
    static let all: [ProgramName] = [.bus] + onBus

    /// Its name in the schedule. With NATS, the bus is a program of another name.
    var title: String { self == .bus ? "the bus" : rawValue }
    /// The name of a service, its database, and its schema on a server.
    var service: String { String(rawValue.dropFirst("parlor-".count)) }
}

/// The kind of bus between the programs.
enum BusKind: String, Sendable {
    case parlor, nats

    var scheme: String { self == .parlor ? "tcp" : "nats" }
}

import ParlorServices

/// An instance of an executable.
struct ProgramName: Hashable, Sendable, CustomStringConvertible {
    let executable: String
    /// From 1 on.
    let instance: Int

    init(_ executable: String, _ instance: Int = 1) {
        self.executable = executable
        self.instance = instance
    }

    static let bus = ProgramName("parlor-bus")
    static let rooms = ProgramName("parlor-rooms")
    static let messaging = ProgramName("parlor-messaging")
    static let elements = ProgramName("parlor-elements")
    static let gateway = ProgramName("parlor-gateway")

    /// Its name in files and in the report.
    var description: String { instance == 1 ? executable : "\(executable)-\(instance)" }
    /// Its name in the schedule. With NATS, the bus is a program of another name.
    var title: String { self == .bus ? "the bus" : description }
    /// The name of a service, its database, and its schema on a server.
    var service: String { String(executable.dropFirst("parlor-".count)) }
}

/// The programs of a run: one bus, one gateway, and the same number of instances of each service.
struct Fleet: Sendable {
    let services: [ProgramName]
    /// The programs that write under load.
    let writers: [ProgramName]

    init(instances: Int = 1) {
        func all(_ name: ProgramName) -> [ProgramName] {
            (1...instances).map { ProgramName(name.executable, $0) }
        }
        services = ParlorServices.all.flatMap { all(ProgramName("parlor-\($0.name)")) }
        writers = [ProgramName.rooms, .messaging, .elements].flatMap(all)
    }

    var onBus: [ProgramName] { services + [.gateway] }
    /// In the order in which they are started.
    var all: [ProgramName] { [.bus] + onBus }
}

/// The kind of bus between the programs.
enum BusKind: String, Sendable {
    case parlor, nats

    var scheme: String { self == .parlor ? "tcp" : "nats" }
}

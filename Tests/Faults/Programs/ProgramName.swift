/// The executables, in the order they are started.
enum ProgramName: String, CaseIterable, Sendable {
    case bus = "parlor-bus"
    case accounts = "parlor-accounts"
    case rooms = "parlor-rooms"
    case messaging = "parlor-messaging"
    case elements = "parlor-elements"
    case gateway = "parlor-gateway"

    static let services: [ProgramName] = [.accounts, .rooms, .messaging, .elements]
    /// Those that write while the load is on.
    static let writers: [ProgramName] = [.rooms, .messaging, .elements]
    static let onBus: [ProgramName] = services + [.gateway]
}

/// Subjects that every service has, by its name.
public enum Subject {
    /// A service says what it offers: when it starts, when the bus is back, and when it is asked to. The subject names the service,
    /// so that a bus can see to it that nobody announces another's.
    public static func announce(of service: String) -> String { "services.announce.\(service)" }
    /// All of these.
    public static let announcements = "services.announce.*"
    /// A gateway asks every service to announce itself.
    public static let discover = "services.discover"
    /// Everyone on the bus is asked how they are; each part answers with a `StatusReport` on `status`.
    public static let statusRequest = "status.wanted"
    public static let status = "status.told"
    /// A gateway is alive: every 800 ms, with its id.
    public static let gatewayAlive = "gateways.alive"
    /// Asks a gateway whose sockets have rooms open there: an `OpenRoomQuestion`.
    public static func openRooms(of gateway: String) -> String { "gateways.\(gateway).open" }
    /// Asks for the ids of the caller's rooms, in pages.
    public static let roomIDs = "rooms.ids"
    /// Asks for the caller's rooms, in pages, as the rooms service knows them.
    public static let rooms = "rooms.list"
    /// Asks for a room as the rooms service knows it: `{roomId}`, as the person who is the request's caller.
    public static let room = "rooms.get"

    /// Entries of a service's event log, as they are committed.
    public static func log(of service: String) -> String { "\(service).log" }
    /// Asks for a page of the log: a `LogQuery`, answered with a `LogPage`.
    public static func logPage(of service: String) -> String { "\(service).events" }
    /// A gateway refuses the service's announcement: `{what, of}`, what it claims and which service has that.
    public static func refusal(of service: String) -> String { "\(service).refused" }
    /// Asks one instance whether it works.
    public static func health(of service: String) -> String { "\(service).health" }
}

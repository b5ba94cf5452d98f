/// The subjects of the bus: those of every service, of gateways and of operators. The requests to one of Parlor's services
/// are in its contract.
public enum Subject {
    /// Returns the subject on which a service announces what it offers: when it starts, when the bus reconnects, when
    /// requested, and when entries of its log were not published. It contains the service's name, so that a bus can
    /// ensure that no peer announces another service.
    public static func announce(of service: String) -> String { "services.announce.\(service)" }
    /// The pattern of all announcements.
    public static let announcements = "services.announce.*"
    /// The subject on which a gateway asks every service to announce itself.
    public static let discover = "services.discover"
    /// The subject on which all parts are asked for their status; each publishes a `StatusReport` on
    /// `status`.
    public static let statusRequest = "status.wanted"
    public static let status = "status.told"
    /// The subject on which an operator asks all gateways what services they know, with an `OperatorRequest`. Each
    /// gateway publishes its reply on `serviceReports`: several `ServiceReport`s.
    public static let listServices = "services.list"
    public static let serviceReports = "gateways.services"
    /// The subject on which an operator asks all gateways to remove a service, with an `OperatorRequest`; each
    /// publishes a `ForgettingReport` on `forgettingReports`.
    public static let forgetService = "services.forget"
    public static let forgettingReports = "gateways.forgotten"
    /// The subject of a gateway's heartbeat: its id, every 800 ms.
    public static let gatewayAlive = "gateways.alive"
    /// Returns the subject on which a gateway is asked who has rooms open there. The request is an `OpenRoomsRequest`.
    public static func openRooms(of gateway: String) -> String { "gateways.\(gateway).open" }

    /// Returns the subject of an event log, where entries are published as they are committed.
    public static func log(of log: LogID) -> String {
        log.number == 0 ? "\(log.service).log" : "\(log.service).log.\(log.number)"
    }
    /// Returns the pattern of the subjects of a service's logs, without that of the log with the number 0.
    public static func logs(of service: String) -> String { "\(service).log.>" }
    /// Returns the subject of a request in a room of a log, on a bus that does not bring a room's requests to one instance:
    /// `messaging.101.send` for `messaging.send`. Instances share the logs (`LogShares`).
    public static func request(_ subject: String, in log: LogID) -> String {
        "\(log.service).\(log.number)\(subject.dropFirst(log.service.utf8.count))"
    }
    /// Returns the subject on which instances of a service that share its logs hear of each other.
    public static func instances(of service: String) -> String { "\(service).instances" }
    /// Returns the subject of requests for a page of one of the service's logs: a `LogQuery`, answered with a `LogPage`.
    public static func logPage(of log: LogID) -> String { "\(log.service).events" }
    /// Returns the subject of requests for all that the log's service has, in pages, for services that follow the log
    /// and missed entries: `{cursor?, log?}`, answered with a `SnapshotPage`. Not every service has it.
    public static func snapshot(of log: LogID) -> String { "\(log.service).snapshot" }
    /// Returns the subject on which a gateway tells a service that its announcement was refused. Its data is
    /// `{what, of}`: the claim, and the service that already has it.
    public static func refusal(of service: String) -> String { "\(service).refused" }
    /// Returns the subject of requests that check whether one instance works.
    public static func health(of service: String) -> String { "\(service).health" }
}

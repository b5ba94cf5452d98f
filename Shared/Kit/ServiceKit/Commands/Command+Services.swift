import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorSecurity
import Synchronization

extension Command {
    // Each gateway sends a heartbeat every 800 ms. One that sends it and does not answer is
    // reported.
    private static let listWait = Setting(
        "SERVICES_WAIT", flag: "--wait", .duration(.milliseconds(10)...(.seconds(60))), default: "1s",
        "How long to wait for replies; below 1 s, a gateway that does not reply may not be noticed")
    private static let forgettingWait = Setting(
        "FORGET_WAIT", flag: "--wait", .duration(.milliseconds(10)...(.seconds(60))), default: "2s",
        "How long to wait for replies; gateways take half a second")
    private static let listsNames = Setting(
        "SERVICES_ALL", flag: "--all", .toggle, default: "off", "List every route, event, badge, field and check")
    private static let listed = Setting(
        "SERVICES_NAME", flag: "--name", .text, "Show this service alone, with all it offers")
    private static let unwanted = Setting("FORGET_NAME", flag: "--name", .text, "The service to remove")

    /// Asks all gateways which services they know.
    public static let services = Command(
        name: "services",
        summary: """
            Shows the services that gateways know, one row each: instances, and how much each offers.
            "parlor services NAME" and --all list every route, event, badge, field and check. Below the table are refused
            announcements, and what gateways do not agree on.
            Exit status: 0; 1 if there is any of these, if a reply is missing or incomplete, or if no gateway
            knows NAME; 2 if there is no bus.
            """,
        settings: [Setting.bus, Setting.busTokenFile, listsNames, listWait, listed], positional: listed,
        peer: .operator
    ) { configuration, print in
        let name = configuration[listed]
        let request = OperatorRequest(
            id: requestID(), service: name, wantsNames: name != nil || configuration[listsNames])
        let instances = Mutex<[String: Set<String>]>([:])
        let (replies, alive) = try await ask(
            request, on: Subject.listServices, repliesOn: Subject.serviceReports, configuration,
            waiting: configuration[listWait],
            also: { bus in
                _ = try bus.subscribe(Subject.status) { message in
                    guard let report = StatusReport(message.data) else { return }
                    instances.withLock { _ = $0[report.part, default: []].insert(report.instance) }
                }
            }, andPublish: [Subject.statusRequest])
        let overview = ServiceOverview(
            replies.compactMap(ServiceReport.init).filter { $0.requestID == request.id }, alive: alive,
            instances: instances.withLock { $0.mapValues(\.count) }, of: name)
        for line in overview.lines { print(line) }
        return overview.isFine ? .done : .found
    }

    /// Makes all gateways remove a service.
    public static let forget = Command(
        name: "forget",
        summary: """
            Removes a service that is gone for good: "parlor forget NAME". Its routes are then 404, and not 503.
            Gateways forget by themselves after a day. They do not remove a service of REQUIRED_SERVICES, nor one that
            still announces itself: stop it first.
            Exit status: 0 if a gateway removed it and no other one has it; 1 otherwise; 2 if there is no bus.
            """,
        settings: [Setting.bus, Setting.busTokenFile, forgettingWait, unwanted], positional: unwanted, peer: .operator
    ) { configuration, print in
        guard let name = configuration[unwanted] else { throw ConfigurationError.missingValue(unwanted.flag) }
        let request = OperatorRequest(id: requestID(), service: name)
        let (replies, alive) = try await ask(
            request, on: Subject.forgetService, repliesOn: Subject.forgettingReports, configuration,
            waiting: configuration[forgettingWait])
        let outcome = ForgettingOverview(
            replies.compactMap(ForgettingReport.init).filter { $0.requestID == request.id }, alive: alive, of: name)
        for line in outcome.lines { print(line) }
        return outcome.isDone ? .done : .found
    }

    private static func requestID() -> String { UUIDv7Generator().next(at: SystemClock().now().milliseconds) }

    /// Asks all gateways, and collects their replies.
    ///
    /// - Parameters:
    ///   - also: makes other subscriptions.
    ///   - others: other subjects on which an empty event is published.
    /// - Returns: the replies, and the ids of the gateways that sent a heartbeat meanwhile.
    private static func ask(
        _ request: OperatorRequest, on subject: String, repliesOn reply: String, _ configuration: Configuration,
        waiting time: Duration, also: @escaping @Sendable (any MessageBus) throws -> Void = { _ in },
        andPublish others: [String] = []
    ) async throws -> (replies: [JSONValue], alive: Set<String>) {
        let replies = Mutex<[JSONValue]>([])
        let alive = Mutex<Set<String>>([])
        try await configuration.withBus(name: "parlor-services") { bus in
            try also(bus)
            _ = try bus.subscribe(reply) { message in replies.withLock { $0.append(message.data) } }
            _ = try bus.subscribe(Subject.gatewayAlive) { message in
                guard let id = message.data["gateway"]?.string else { return }
                alive.withLock { _ = $0.insert(id) }
            }
        } then: { bus in
            try bus.publish(subject, request.json)
            for other in others { try bus.publish(other, JSONValue.emptyObject) }
            try await Task.sleep(for: time)
        }
        return (replies.withLock { $0 }, alive.withLock { $0 })
    }
}

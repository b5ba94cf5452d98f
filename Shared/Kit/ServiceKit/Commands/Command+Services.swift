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
        "How long to wait for answers; below 1 s, a gateway that does not answer may not be noticed")
    private static let forgettingWait = Setting(
        "FORGET_WAIT", flag: "--wait", .duration(.milliseconds(10)...(.seconds(60))), default: "2s",
        "How long to wait for answers; gateways take half a second")
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
            Exit status: 0; 1 if there is any of these, if an answer is missing or incomplete, or if no gateway
            knows NAME; 2 if there is no bus.
            """,
        settings: [Setting.bus, Setting.busTokenFile, listsNames, listWait, listed], positional: listed,
        peer: .operator
    ) { configuration, print in
        let name = configuration[listed]
        let question = OperatorQuestion(
            id: questionID(), service: name, wantsNames: name != nil || configuration[listsNames])
        let instances = Mutex<[String: Set<String>]>([:])
        let (answers, alive) = try await ask(
            question, on: Subject.listServices, answeredOn: Subject.serviceReports, configuration,
            waiting: configuration[listWait],
            also: { bus in
                _ = try bus.subscribe(Subject.status) { message in
                    guard let report = StatusReport(message.data) else { return }
                    instances.withLock { _ = $0[report.part, default: []].insert(report.instance) }
                }
            }, andPublish: [Subject.statusRequest])
        let overview = ServiceOverview(
            answers.compactMap(ServiceReport.init).filter { $0.question == question.id }, alive: alive,
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
        let question = OperatorQuestion(id: questionID(), service: name)
        let (answers, alive) = try await ask(
            question, on: Subject.forgetService, answeredOn: Subject.forgettingReports, configuration,
            waiting: configuration[forgettingWait])
        let outcome = ForgettingOverview(
            answers.compactMap(ForgettingReport.init).filter { $0.question == question.id }, alive: alive, of: name)
        for line in outcome.lines { print(line) }
        return outcome.isDone ? .done : .found
    }

    private static func questionID() -> String { UUIDv7Generator().next(at: SystemClock().now().milliseconds) }

    /// Asks all gateways, and collects what they answer.
    ///
    /// - Parameters:
    ///   - also: makes further subscriptions.
    ///   - others: further subjects on which an empty event is published.
    /// - Returns: the answers, and the ids of the gateways that sent a heartbeat meanwhile.
    private static func ask(
        _ question: OperatorQuestion, on subject: String, answeredOn answer: String, _ configuration: Configuration,
        waiting time: Duration, also: @escaping @Sendable (any MessageBus) throws -> Void = { _ in },
        andPublish others: [String] = []
    ) async throws -> (answers: [JSONValue], alive: Set<String>) {
        let answers = Mutex<[JSONValue]>([])
        let alive = Mutex<Set<String>>([])
        try await configuration.withBus(name: "parlor-services") { bus in
            try also(bus)
            _ = try bus.subscribe(answer) { message in answers.withLock { $0.append(message.data) } }
            _ = try bus.subscribe(Subject.gatewayAlive) { message in
                guard let id = message.data["gateway"]?.string else { return }
                alive.withLock { _ = $0.insert(id) }
            }
        } then: { bus in
            try bus.publish(subject, question.json)
            for other in others { try bus.publish(other, JSONValue.emptyObject) }
            try await Task.sleep(for: time)
        }
        return (answers.withLock { $0 }, alive.withLock { $0 })
    }
}

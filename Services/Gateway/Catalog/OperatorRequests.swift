import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import Synchronization

/// Answers the requests of `parlor services` and `parlor forget`, which every gateway gets.
///
/// Only operators may ask: on a bus with a table of peers, nobody else may publish on these subjects.
package final class OperatorRequests: Sendable {
    /// The limit of requests in progress. Others get no reply, which the operator sees.
    private static let maxRequests = 16
    /// The time in which a service has to reply. A service that is too slow still counts as served.
    private static let healthTimeout: Duration = .milliseconds(250)
    /// The size limit of the reports with names that answer one request, in bytes. If they were larger, a slow bus
    /// would disconnect the gateway. Other services are listed with counts only.
    private static let maxBytesWithNames = 2 << 20

    private let gatewayID: String
    private let bus: any MessageBus
    private let directory: Directory
    private let log: Logger
    private let subscriptions = Mutex<[BusSubscription]>([])
    private let inProgress = Mutex(0)

    package init(gatewayID: String, bus: any MessageBus, directory: Directory, log: Logger) {
        self.gatewayID = gatewayID
        self.bus = bus
        self.directory = directory
        self.log = log
    }

    package func start() throws(BusError) {
        let lists = try bus.subscribe(Subject.listServices) { [weak self] in
            self?.answer($0) { await $0.list($1) }
        }
        let forgetting = try bus.subscribe(Subject.forgetService) { [weak self] in
            self?.answer($0) { await $0.forget($1) }
        }
        subscriptions.withLock { $0 = [lists, forgetting] }
    }

    package func stop() {
        for subscription in subscriptions.withLock({ $0 }) { subscription.cancel() }
    }

    private func answer(
        _ message: BusMessage, _ work: @escaping @Sendable (OperatorRequests, OperatorRequest) async -> Void
    ) {
        guard let request = OperatorRequest(message.data) else { return }
        let isAccepted = inProgress.withLock { count in
            guard count < Self.maxRequests else { return false }
            count += 1
            return true
        }
        guard isAccepted else {
            return log.warning("too many operator requests in progress", ["subject": message.subject])
        }
        Task {
            await work(self, request)
            inProgress.withLock { $0 -= 1 }
        }
    }

    private func list(_ request: OperatorRequest) async {
        let known = directory.known(request.service)
        let served = await served(of: known.map(\.name))
        var bytesLeft = request.wantsNames ? Self.maxBytesWithNames : 0
        for var service in known {
            service.isServed = served.contains(service.name)
            var json = report(request, .service(service))
            if json.bytes.count > bytesLeft {
                service.offer?.names = nil
                json = report(request, .service(service))
            } else {
                bytesLeft -= json.bytes.count
            }
            guard publish(json, on: Subject.serviceReports) else { return }
        }
        publish(report(request, .end(count: known.count)), on: Subject.serviceReports)
    }

    private func report(_ request: OperatorRequest, _ content: ServiceReport.Content) -> JSONValue {
        ServiceReport(requestID: request.id, gateway: gatewayID, instance: Program.instance, content).json
    }

    /// Returns the services that answer requests.
    private func served(of services: [String]) async -> Set<String> {
        await withTaskGroup(of: String?.self) { group in
            for name in services { group.addTask { await self.isServed(name) ? name : nil } }
            return await group.reduce(into: []) { served, name in if let name { served.insert(name) } }
        }
    }

    private func isServed(_ service: String) async -> Bool {
        let context = BusContext(requestID: "services", timeout: Self.healthTimeout)
        do throws(BusError) {
            _ = try await bus.request(Subject.health(of: service), .emptyObject, context)
            return true
        } catch {
            // A late or malformed reply also shows that an instance is up.
            return error != .noResponders && error != .disconnected && error != .badSubject
        }
    }

    private func forget(_ request: OperatorRequest) async {
        guard let service = request.service else { return }
        let (outcome, offer) = await directory.forget(service)
        let report = ForgettingReport(
            requestID: request.id, gateway: gatewayID, instance: Program.instance, outcome, offer: offer)
        publish(report.json, on: Subject.forgettingReports)
    }

    /// - Returns: false, after a line in the log, if the bus does not take it.
    @discardableResult
    private func publish(_ report: JSONValue, on subject: String) -> Bool {
        do throws(BusError) {
            try bus.publish(subject, report)
            return true
        } catch {
            log.warning("an operator was not answered", ["subject": subject, "error": "\(error)"])
            return false
        }
    }
}

import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import Synchronization

/// Shares the logs of a service among its instances, on a bus that does not bring a room's requests to one of them
/// (`MessageBus.hasKeyAffinity`): so writes to a log meet in one instance's commits.
///
/// Instances hear of each other. Each serves the requests of the logs that fall to it among those that it hears of. It is
/// only a matter of speed: for a moment two instances may serve a log, or none, and then any of them gets the requests.
final class LogShares: Sendable {
    private struct State {
        /// When each instance was last heard of, this one included.
        var heard: [String: ContinuousClock.Instant] = [:]
        var serving: [LogID: BusSubscription] = [:]
        var hearing: BusSubscription?
        var heartbeats: Task<Void, Never>?
        var isStopped = false
    }

    private let service: String
    private let logs: [LogID]
    private let id: String
    private let bus: any MessageBus
    private let interval: Duration
    private let serve: @Sendable (BusRequest) -> Void
    private let state = Mutex(State())

    /// The intervals of silence after which an instance counts as gone.
    private static let maxSilence = 3

    /// - Parameters:
    ///   - id: of this instance, unlike those of others.
    ///   - interval: the interval between an instance's heartbeats.
    ///   - serve: takes a request whose subject names a log.
    init(
        of logs: [LogID], service: String, id: String, on bus: any MessageBus, every interval: Duration = .seconds(1),
        _ serve: @escaping @Sendable (BusRequest) -> Void
    ) {
        self.service = service
        self.logs = logs
        self.id = id
        self.bus = bus
        self.interval = interval
        self.serve = serve
    }

    func start() throws(BusError) {
        let hearing = try bus.subscribe(Subject.instances(of: service)) { [weak self] message in
            guard let id = message.data["instance"]?.string else { return }
            self?.hear(of: id, leaves: message.data["leaves"]?.bool ?? false)
        }
        let heartbeats = Task { [weak self, interval] in
            while !Task.isCancelled, self?.sendHeartbeat() != nil {
                try? await Task.sleep(for: interval)  // cancelled: the loop ends
            }
        }
        state.withLock { ($0.hearing, $0.heartbeats) = (hearing, heartbeats) }
    }

    /// Serves none of the logs any more, and notifies the other instances.
    func stop() async {
        let state = state.withLock { state in
            state.isStopped = true
            return state
        }
        state.heartbeats?.cancel()
        await state.heartbeats?.value
        state.hearing?.cancel()
        for subscription in state.serving.values { subscription.cancel() }
        publish(leaves: true)
    }

    /// The logs that this instance serves.
    var served: [LogID] { state.withLock { $0.serving.keys.sorted() } }

    private func sendHeartbeat() {
        guard !state.withLock(\.isStopped) else { return }
        publish(leaves: false)
        // It takes its share without a bus as well: while there is none, nobody asks.
        hear(of: id, leaves: false)
    }

    private func publish(leaves: Bool) {
        let heartbeat = JSONWriter.object {
            $0.member("instance", id)
            if leaves { $0.member("leaves", true) }
        }
        try? bus.publish(Subject.instances(of: service), heartbeat)  // the next one says the same
    }

    private func hear(of instance: String, leaves: Bool) {
        let (isNew, ended) = state.withLock { state -> (Bool, [BusSubscription]) in
            guard !state.isStopped else { return (false, []) }
            let now = ContinuousClock.now
            let isNew = state.heard[instance] == nil && !leaves
            state.heard[instance] = leaves ? nil : now
            state.heard = state.heard.filter { now - $0.value <= interval * Self.maxSilence }
            return (isNew, share(&state))
        }
        for subscription in ended { subscription.cancel() }
        // A new one learns of this one at once.
        if isNew, instance != id { publish(leaves: false) }
    }

    /// Serves the logs that fall to this instance.
    ///
    /// - Returns: the subscriptions to the logs that no longer do.
    private func share(_ state: inout State) -> [BusSubscription] {
        let instances = state.heard.keys.sorted()
        guard let place = instances.firstIndex(of: id) else { return [] }
        var ended: [BusSubscription] = []
        for (index, logID) in logs.enumerated() {
            if index % instances.count != place {
                if let subscription = state.serving.removeValue(forKey: logID) { ended.append(subscription) }
            } else if state.serving[logID] == nil {
                let pattern = Subject.request("\(service).>", in: logID)
                state.serving[logID] = try? bus.respond(to: pattern, queue: service, serve)  // the next time again
            }
        }
        return ended
    }
}

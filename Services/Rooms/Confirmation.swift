import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import Synchronization

/// Has keepers and gateways confirm a change of a room's people.
struct Confirmation: Sendable {
    let bus: any MessageBus
    let gateways: any LiveGateways
    /// The services that always have to confirm. Another keeper that has been down for `patience` stops nobody.
    let required: Set<String>
    /// The interval between attempts, which do not wait for each other's replies: each may reach another instance.
    var interval: Duration = .milliseconds(100)
    var patience: Duration = .seconds(10)

    /// The time after which an attempt counts as lost.
    private static let timeout: Duration = .seconds(3)

    /// Returns once all these keepers, and all live gateways, have confirmed the change.
    ///
    /// - Throws: `CancellationError`.
    func confirm(_ change: PeopleChange, by keepers: [String]) async throws {
        let data = JSONWriter.object { $0.member("change", change.json) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for keeper in keepers {
                let isRequired = required.contains(keeper)
                group.addTask {
                    try await confirm(data, Subject.fence(of: keeper)) { !isRequired && $0 >= patience }
                }
            }
            group.addTask { try await confirmByGateways(data) }
            try await group.waitForAll()
        }
    }

    private func confirmByGateways(_ data: JSONValue) async throws {
        var confirmed: Set<String> = []
        while true {
            // One that starts meanwhile may have answered a request with an older record.
            let missing = try await gateways.alive().filter { !confirmed.contains($0) }
            guard !missing.isEmpty else { return }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for gateway in missing {
                    group.addTask {
                        try await confirm(data, Subject.gatewayFence(of: gateway)) { _ in !gateways.isAlive(gateway) }
                    }
                }
                try await group.waitForAll()
            }
            confirmed.formUnion(missing)
        }
    }

    private enum Event { case confirmed, noResponders, failed, nextAttempt }

    /// Sends the request until somebody confirms.
    ///
    /// - Parameter isGone: returns true if nobody has to confirm any more; called with the time for which there has been
    ///   nobody to reply.
    private func confirm(
        _ data: JSONValue, _ subject: String, unless isGone: @Sendable (Duration) -> Bool
    ) async throws {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        var goneSince: ContinuousClock.Instant?
        send(data, subject, continuation)
        for await event in events {
            switch event {
            case .confirmed: return
            case .noResponders: goneSince = goneSince ?? .now
            case .failed: goneSince = nil
            case .nextAttempt:
                let gone = goneSince.map { ContinuousClock.now - $0 } ?? .zero
                if isGone(gone) { return }
                send(data, subject, continuation)
            }
        }
        throw CancellationError()
    }

    private func send(_ data: JSONValue, _ subject: String, _ events: AsyncStream<Event>.Continuation) {
        let context = BusContext(requestID: "people", timeout: Self.timeout, isRepeatable: true)
        bus.request(subject, data, context) { result in
            switch result {
            case .success(let payload):
                // A keeper may fail to write.
                let isConfirmed = (try? Reply(payload)) != nil
                events.yield(isConfirmed ? .confirmed : .failed)
            case .failure(let error): events.yield(error == .noResponders ? .noResponders : .failed)
            }
        }
        Task { [interval] in
            try? await Task.sleep(for: interval)  // never cancelled
            events.yield(.nextAttempt)
        }
    }
}

/// The gateways that are alive, as far as that is known.
protocol LiveGateways: Sendable {
    /// Returns the ids of all of them.
    ///
    /// - Throws: `CancellationError`.
    func alive() async throws -> [String]
    func isAlive(_ gateway: String) -> Bool
}

/// The gateways that send heartbeats.
final class HeardGateways: LiveGateways {
    private let membership: GatewayMembership
    private let bus: any MessageBus
    private let lease: Duration
    /// The time at which it began to hear of all gateways; nil while the bus is disconnected.
    private let hearsSince = Mutex<ContinuousClock.Instant?>(nil)
    private let subscription = Mutex<BusSubscription?>(nil)

    init(_ membership: GatewayMembership, _ bus: any MessageBus, lease: Duration = GatewayMembership.lease) {
        self.membership = membership
        self.bus = bus
        self.lease = lease
    }

    func start(on loop: EventLoop) throws(BusError) {
        let subscription = bus.onStateChange { [weak self] state in
            self?.hearsSince.withLock { $0 = state == .connected ? .now : nil }
        }
        self.subscription.withLock { $0 = subscription }
        if bus.isConnected { hearsSince.withLock { $0 = $0 ?? .now } }
        try membership.start(on: loop)
    }

    func stop() {
        membership.stop()
        subscription.withLock { $0 }?.cancel()
    }

    func isAlive(_ gateway: String) -> Bool { membership.isAlive(gateway) }

    /// Waits until every gateway that is alive has had the time for a heartbeat since the bus was connected.
    func alive() async throws -> [String] {
        while true {
            let heard = hearsSince.withLock { $0 }.map { ContinuousClock.now - $0 } ?? .zero
            guard heard < lease else { return membership.alive }
            try await Task.sleep(for: min(lease - heard, .milliseconds(100)))
        }
    }
}

import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import Synchronization

/// Has keepers and gateways confirm a change of a room's people.
struct Confirmation: Sendable {
    let bus: any MessageBus
    let gateways: HeardGateways
    /// The services that always have to confirm. Another keeper that has been down for `patience` stops nobody.
    let required: Set<String>
    let log: Logger
    /// The interval between attempts, which do not wait for each other's replies: each may reach another instance.
    var interval: Duration = .milliseconds(100)
    /// The number of attempts after which the interval is ten times as long: many changes may wait for a service that is down.
    private static let frequentAttempts = 50
    var patience: Duration = .seconds(10)
    private let gone = GoneKeepers()

    /// The time after which an attempt counts as lost.
    private static let timeout: Duration = .seconds(3)

    /// A service that may keep the record.
    struct Keeper: Sendable {
        let name: String
        /// The room's changes that were confirmed without it, in order.
        let missed: [PeopleChange]
    }

    /// Returns once all these keepers, and then all live gateways, have confirmed the change. A keeper confirms those that it
    /// has missed before.
    ///
    /// - Parameter isCurrent: returns false once a higher version is to be confirmed.
    /// - Returns: the names of the keepers that were down, and did not have to confirm it; nil if it is not current any more.
    /// - Throws: `CancellationError`; `FenceIsHigher`.
    func confirm(
        _ change: PeopleChange, by keepers: [Keeper], while isCurrent: @escaping @Sendable () -> Bool
    ) async throws -> [String]? {
        let data = Self.data(change)
        do {
            let (gateways, down) = try await withThrowingTaskGroup(of: (gateways: Set<String>, down: String?).self) {
                group in
                for keeper in keepers {
                    group.addTask {
                        ([], try await confirm(change, by: keeper, while: isCurrent) ? nil : keeper.name)
                    }
                }
                group.addTask { (try await confirmByGateways(data, besides: [], while: isCurrent), nil) }
                return try await group.reduce(into: (Set(), [String]())) { sum, next in
                    sum.0.formUnion(next.gateways)
                    if let down = next.down { sum.1.append(down) }
                }
            }
            // A gateway that has started since may have an older record.
            _ = try await confirmByGateways(data, besides: gateways, while: isCurrent)
            return down
        } catch is Superseded {
            return nil
        }
    }

    /// - Returns: false if the keeper is down, and does not have to confirm.
    private func confirm(
        _ change: PeopleChange, by keeper: Keeper, while isCurrent: @escaping @Sendable () -> Bool
    ) async throws -> Bool {
        let isRequired = required.contains(keeper.name)
        for next in keeper.missed + [change] {
            let began = ContinuousClock.now
            let fence = try await confirm(Self.data(next), Subject.fence(of: keeper.name), while: isCurrent) {
                silence in
                if isRequired { return false }
                if gone.wasForgotten(keeper.name, since: began) { return true }
                return silence.map { $0 >= patience || gone.isDown(keeper.name) } ?? false
            }
            gone.note(keeper.name, isDown: fence == nil)
            guard let fence else { return false }
            if next == change, fence > change.version, isCurrent() { throw FenceIsHigher(fence: fence) }
        }
        return true
    }

    /// Sends a change to a keeper, once.
    ///
    /// - Returns: true if it has confirmed.
    func deliver(_ change: PeopleChange, to keeper: String) async -> Bool {
        let context = BusContext(requestID: "people", timeout: Self.timeout, isRepeatable: true)
        let reply = try? await bus.ask(Subject.fence(of: keeper), Self.data(change), context, of: keeper)
        guard reply != nil else { return false }  // whatever has failed, it is sent again
        gone.note(keeper, isDown: false)
        return true
    }

    /// Ends the wait for a keeper that an operator has removed.
    func forget(_ keeper: String) { gone.forget(keeper) }

    /// Waits again for keepers that have missed nothing any more, as another instance has delivered it.
    func keepDown(only keepers: [String]) { gone.keepDown(only: Set(keepers)) }

    private static func data(_ change: PeopleChange) -> JSONValue {
        JSONWriter.object { $0.member("change", change.json) }
    }

    private struct Superseded: Error {}

    /// A keeper has a higher fence than the change has.
    struct FenceIsHigher: Error {
        let fence: Int
    }

    /// - Returns: the gateways that have confirmed, with those that had before.
    private func confirmByGateways(
        _ data: JSONValue, besides before: Set<String>, while isCurrent: @escaping @Sendable () -> Bool
    ) async throws -> Set<String> {
        var confirmed = before
        while true {
            // One that was given up while its heartbeats waited to be read is in the next list again.
            let missing = try await gateways.alive().filter { !confirmed.contains($0) }
            guard !missing.isEmpty else { return confirmed }
            try await withThrowingTaskGroup(of: String?.self) { group in
                for gateway in missing {
                    group.addTask {
                        let fence = try await confirm(
                            data, Subject.gatewayFence(of: gateway), while: isCurrent
                        ) { _ in !gateways.isAlive(gateway) }
                        return fence == nil ? nil : gateway
                    }
                }
                for try await gateway in group { if let gateway { confirmed.insert(gateway) } }
            }
        }
    }

    private enum Event {
        case confirmed(fence: Int?)
        case noResponders, failed, nextAttempt
    }

    /// Sends the request until somebody confirms.
    ///
    /// - Parameter isGone: returns true if nobody has to confirm any more; called with the time for which there has been
    ///   nobody to reply, nil if there is somebody.
    /// - Returns: the fence in the reply, 0 if it has none; nil if nobody had to confirm.
    private func confirm(
        _ data: JSONValue, _ subject: String, while isCurrent: @Sendable () -> Bool,
        unless isGone: @Sendable (Duration?) -> Bool
    ) async throws -> Int? {
        // One event for each attempt, and one for each reply.
        let (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .unbounded)
        var goneSince: ContinuousClock.Instant?
        var attempts = 1
        send(data, subject, nextAfter: interval, continuation)
        for await event in events {
            switch event {
            case .confirmed(let fence): return fence ?? 0
            case .noResponders: goneSince = goneSince ?? .now
            case .failed: goneSince = nil
            case .nextAttempt:
                if isGone(goneSince.map { ContinuousClock.now - $0 }) { return nil }
                guard isCurrent() else { throw Superseded() }
                attempts += 1
                if attempts == Self.frequentAttempts {
                    log.warning("a change of people is not confirmed yet", ["subject": subject])
                }
                let pause = attempts > Self.frequentAttempts ? interval * 10 : interval
                send(data, subject, nextAfter: pause, continuation)
            }
        }
        throw CancellationError()
    }

    private func send(
        _ data: JSONValue, _ subject: String, nextAfter pause: Duration, _ events: AsyncStream<Event>.Continuation
    ) {
        let context = BusContext(requestID: "people", timeout: Self.timeout, isRepeatable: true)
        bus.request(subject, data, context) { result in
            switch result {
            case .success(let payload):
                // A keeper may fail to write.
                let reply = try? Reply(payload)
                events.yield(reply.map { .confirmed(fence: $0.data["fence"]?.int) } ?? .failed)
            case .failure(let error): events.yield(error == .noResponders ? .noResponders : .failed)
            }
        }
        Task {
            try? await Task.sleep(for: pause)  // never cancelled
            events.yield(.nextAttempt)
        }
    }
}

/// The keepers that changes do not wait for: those without which a change was confirmed, until they reply again, and those
/// that an operator has removed.
private final class GoneKeepers: Sendable {
    private let down = Mutex<Set<String>>([])
    private let forgotten = Mutex<[String: ContinuousClock.Instant]>([:])

    func isDown(_ name: String) -> Bool { down.withLock { $0.contains(name) } }

    func note(_ name: String, isDown: Bool) {
        down.withLock { _ = isDown ? $0.insert(name).inserted : $0.remove(name) != nil }
    }

    func keepDown(only names: Set<String>) { down.withLock { $0.formIntersection(names) } }

    func wasForgotten(_ name: String, since time: ContinuousClock.Instant) -> Bool {
        forgotten.withLock { $0[name] }.map { $0 >= time } ?? false
    }

    func forget(_ name: String) { forgotten.withLock { $0[name] = .now } }
}

/// The gateways that send heartbeats.
final class HeardGateways: Sendable {
    private let membership: GatewayMembership
    private let bus: any MessageBus
    private let lease: Duration
    /// The time at which it began to hear of all gateways; nil while the bus is disconnected.
    private let hearsSince = Mutex<ContinuousClock.Instant?>(nil)
    private let subscriptions = Mutex<[BusSubscription]>([])
    /// The probes that have not come back, by number.
    private let probes = Mutex<(last: Int, waiting: [Int: AsyncStream<Bool>.Continuation])>((0, [:]))
    private let id: String

    init(_ membership: GatewayMembership, _ bus: any MessageBus, lease: Duration = GatewayMembership.lease) {
        self.membership = membership
        self.bus = bus
        self.lease = lease
        id = UUIDv7Generator().next(at: 0)
    }

    func start(on loop: EventLoop) throws(BusError) {
        let states = bus.onStateChange { [weak self] state in
            self?.hearsSince.withLock { $0 = state == .connected ? .now : nil }
        }
        let echoes = try bus.subscribe(Subject.roomsProbe) { [weak self] message in
            guard let self, message.data["from"]?.string == id, let number = message.data["number"]?.int else { return }
            probes.withLock { $0.waiting.removeValue(forKey: number) }?.yield(true)
        }
        subscriptions.withLock { $0 = [states, echoes] }
        if bus.isConnected { hearsSince.withLock { $0 = $0 ?? .now } }
        try membership.start(on: loop)
    }

    func stop() {
        membership.stop()
        for subscription in subscriptions.withLock({ $0 }) { subscription.cancel() }
    }

    func isAlive(_ gateway: String) -> Bool { membership.isAlive(gateway) }

    /// Waits until every gateway that is alive has had the time for a heartbeat since the bus was connected, and until
    /// everything that the bus has for this process up to now has arrived: so no heartbeat waits to be read.
    func alive() async throws -> [String] {
        while true {
            let heard = hearsSince.withLock { $0 }.map { ContinuousClock.now - $0 } ?? .zero
            if heard >= lease, await isUpToDate() { return membership.alive }
            try await Task.sleep(for: min(max(lease - heard, .milliseconds(10)), .milliseconds(100)))
        }
    }

    /// Sends a message to itself over the bus.
    ///
    /// - Returns: true once it has come back; false if it does not within a second.
    private func isUpToDate() async -> Bool {
        let (results, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingOldest(1))
        let number = probes.withLock { probes in
            probes.last += 1
            probes.waiting[probes.last] = continuation
            return probes.last
        }
        let probe = JSONWriter.object {
            $0.member("from", id)
            $0.member("number", number)
        }
        try? bus.publish(Subject.roomsProbe, probe)  // without it, the second passes
        let timing = Task {
            try? await Task.sleep(for: .seconds(1))  // cancelled: the result is known
            continuation.yield(false)
        }
        defer {
            timing.cancel()
            probes.withLock { _ = $0.waiting.removeValue(forKey: number) }
        }
        for await result in results { return result }
        return false
    }
}

import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorMessageBus
import ParlorReactor
import ParlorRoomViews
import ParlorServiceClient
import ParlorServiceKit
import Synchronization

/// The gateway's right to send output (docs/membership.md, *Leases*): for `length` after it sent the last heartbeat that has
/// come back to it. Rooms waits longer than that before it calls a silent gateway gone.
///
/// A gateway that has lost its lease, as it was stopped or disconnected, holds its output until it has caught up with the
/// changes of rooms' people that it missed. If it cannot within `maxWait`, it closes its sockets.
package final class OutputLease: Sendable {
    /// Shorter than `GatewayMembership.shortestLease`.
    static let length: Duration = .milliseconds(2200)
    private static let maxWait: Duration = .seconds(1)
    private static let retryInterval: Duration = .milliseconds(50)
    private static let lookInterval: Duration = .milliseconds(200)

    /// Changes of rooms' people that this gateway may not have applied.
    struct UnappliedChanges: Sendable {
        let pending: [PeopleChange]
        /// The entries of complete ones.
        let completed: [LogEntry]

        var left: [String] {
            pending.flatMap { $0.left.map(\.userID) } + completed.flatMap { $0.fact?.peopleChanged?.left ?? [] }
        }
    }

    private enum Phase {
        /// It has never caught up. Nobody can have joined a room before Rooms was there.
        case new
        /// It has a lease until the gate closes.
        case leased(until: LoopInstant)
        /// It was disconnected for longer than a lease. Nothing of rooms arrives, and what is in memory is not used.
        case cut
        case catchingUp
    }

    private struct State {
        var phase = Phase.new
        /// The instant of the last heartbeat that has come back.
        var lastBeat = LoopInstant(nanoseconds: 0)
        var catchingUp: Task<Void, Never>?
        var subscription: BusSubscription?
        var loop: EventLoop?
        var timer: LoopTimer?
    }

    /// The gate of the connections of clients.
    package let gate = OutputGate()
    private let bus: any MessageBus
    private let fanout: Fanout
    private let memberships: Memberships
    private let entries: EntryFetcher
    private let log: Logger
    private let state = Mutex(State())

    package init(
        bus: any MessageBus, fanout: Fanout, memberships: Memberships, entries: EntryFetcher, log: Logger
    ) {
        self.bus = bus
        self.fanout = fanout
        self.memberships = memberships
        self.entries = entries
        self.log = log
    }

    /// - Parameter loop: the one that reads from the bus.
    package func start(on loop: EventLoop) {
        loop.execute { [weak self] in
            let timer = loop.schedule(after: Self.lookInterval) { self?.look() }
            self?.state.withLock { ($0.loop, $0.timer) = (loop, timer) }
        }
        let subscription = bus.onStateChange { [weak self] in if $0 == .connected { self?.reconnect() } }
        state.withLock { $0.subscription = subscription }
    }

    package func stop() async {
        let (subscription, task, loop, timer) = state.withLock { state in
            defer { state.timer = nil }
            return (state.subscription, state.catchingUp, state.loop, state.timer)
        }
        loop?.execute { timer?.cancel() }
        subscription?.cancel()
        task?.cancel()
        await task?.value
        gate.open(until: nil)
    }

    /// Notes that a heartbeat of this gateway has come back over the bus.
    ///
    /// - Parameter time: the instant at which it was sent.
    package func renew(_ time: LoopInstant) {
        state.withLock { state in
            state.lastBeat = max(state.lastBeat, time)
            switch state.phase {
            case .leased(let end) where .now() < end: extend(&state, from: state.lastBeat)
            case .leased: catchUp(&state, isHolding: true)
            // There are no sockets in rooms: output to others goes on.
            case .new, .cut: catchUp(&state, isHolding: false)
            case .catchingUp: break
            }
        }
    }

    /// When the lease has ended and no heartbeat comes back: begins to catch up, as the bus hangs. While the bus is
    /// disconnected, output goes on, as nothing of rooms arrives, but nothing from memory is used any more.
    private func look() {
        let isCut = state.withLock { state in
            state.timer?.rearm(after: Self.lookInterval)
            guard case .leased(let end) = state.phase, end <= .now() else { return false }
            guard !bus.isConnected else {
                catchUp(&state, isHolding: true)
                return false
            }
            state.phase = .cut
            return true
        }
        guard isCut else { return }
        Task {
            for delivery in fanout.loops { await delivery.cut() }
            let isStillCut = state.withLock { if case .cut = $0.phase { true } else { false } }
            if isStillCut { gate.open(until: nil) }
        }
    }

    private func extend(_ state: inout State, from beat: LoopInstant) {
        let end = beat + Self.length
        state.phase = .leased(until: end)
        gate.open(until: end)
    }

    // MARK: The bus

    private func reconnect() {
        state.withLock { state in
            switch state.phase {
            case .cut: catchUp(&state, isHolding: true)
            case .leased(let end) where end <= .now(): catchUp(&state, isHolding: true)
            case .new, .leased, .catchingUp: break
            }
        }
    }

    // MARK: Catching up

    /// - Parameter isHolding: true to hold the output meanwhile.
    private func catchUp(_ state: inout State, isHolding: Bool) {
        let isNew = if case .new = state.phase { true } else { false }
        state.phase = .catchingUp
        if isHolding {
            gate.close()
            log.warning("output is held: this gateway was stopped or disconnected")
        }
        // A later heartbeat does not say that Rooms has waited for this gateway since the request.
        state.catchingUp = Task { [beat = state.lastBeat] in await catchUp(since: beat, isHolding, isNew: isNew) }
    }

    private func catchUp(since beat: LoopInstant, _ isHolding: Bool, isNew: Bool) async {
        let deadline = LoopInstant.now() + Self.maxWait
        while true {
            do {
                try await apply(by: deadline)
                return state.withLock { extend(&$0, from: beat) }
            } catch {
                if .now() + Self.retryInterval < deadline, !Task.isCancelled {
                    try? await Task.sleep(for: Self.retryInterval)  // cancelled: the next attempt is the last
                    continue
                }
                return await giveUp(because: error, isHolding, isNew: isNew)
            }
        }
    }

    private func giveUp(because error: any Error, _ isHolding: Bool, isNew: Bool) async {
        if isHolding {
            log.warning("sockets are closed: changes of rooms' people are not known", ["error": "\(error)"])
        }
        // A new one has nothing of rooms, and follows no log of Rooms.
        if !isNew { for delivery in fanout.loops { await delivery.cut(closingAll: isHolding) } }
        state.withLock { $0.phase = isNew ? .new : .cut }
        gate.open(until: nil)
    }

    /// Applies the changes of rooms' people that are not complete, and those that are complete and not followed yet. The
    /// former are requested first, so none is missed.
    private func apply(by deadline: LoopInstant) async throws {
        // Before that, it is not known which of the changes become complete.
        guard await fanout.follows(.rooms) else { throw ServiceError.unavailable("The log of rooms") }
        let context = BusContext(requestID: "lease", timeout: deadline - .now(), isRepeatable: true)
        let pending = try await bus.askForAll(Subject.pendingChanges, context, of: "Rooms") { _ in }
        let missed = UnappliedChanges(
            pending: pending.compactMap(PeopleChange.init),
            completed: try await missedEntries(by: deadline))
        memberships.forgetAll()
        for delivery in fanout.loops { await delivery.apply(missed) }
    }

    private func missedEntries(by deadline: LoopInstant) async throws -> [LogEntry] {
        guard let delivery = fanout.loops.first, var position = await delivery.position(of: .rooms) else {
            return []
        }
        var missed: [LogEntry] = []
        while true {
            let context = BusContext(requestID: "lease", timeout: deadline - .now(), isRepeatable: true)
            let page = try await entries.client.page(of: .rooms, LogQuery(after: position), context)
            guard page.isKnown, page.head.databaseID == position.databaseID else {
                throw ServiceError.unavailable("The log of rooms")
            }
            missed += page.entries.filter { $0.fact?.peopleChanged != nil }
            guard page.through < page.head.seq, let last = page.entries.last else { return missed }
            position = LogPosition(after: last, in: position.databaseID)
        }
    }
}

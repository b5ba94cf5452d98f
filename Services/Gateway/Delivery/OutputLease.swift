import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorGatewayPresence
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
    /// The limit of the wait for what was missed. A new gateway holds no output meanwhile, so it may wait longer.
    private static let (maxWait, maxWaitAtStart): (Duration, Duration) = (.seconds(1), .seconds(10))
    private static let retryInterval: Duration = .milliseconds(50)
    private static let lookInterval: Duration = .milliseconds(200)
    private static let noLog = ServiceError.unavailable("The log of rooms")

    /// The number of entries of Rooms' log from before its start that a new gateway reads: other logs may still bring entries
    /// from before the last of these changes.
    private static let earlierEntries = 1000

    /// Changes of rooms' people that this gateway may not have applied.
    struct UnappliedChanges: Sendable {
        let pending: [PeopleChange]
        /// The entries of complete ones, in order.
        var completed: [LogEntry] = []
        /// The database of Rooms' log.
        let databaseID: String
        /// The number of the entry after which these are all.
        var start: Int

        /// Who has left which room with these.
        var left: [RoomMember] {
            pending.flatMap { change in change.left.map { RoomMember(roomID: change.roomID, userID: $0.userID) } }
                + completed.flatMap { entry in
                    (entry.fact?.peopleChanged?.left ?? []).map { RoomMember(roomID: entry.roomID, userID: $0) }
                }
        }
    }

    private enum Phase {
        /// It has not caught up since its start, as Rooms was not there.
        case new
        /// It has a lease until the gate closes.
        case leased(until: LoopInstant)
        /// It was disconnected for longer than a lease. Nothing of rooms is sent, and what is in memory is not used.
        case cut
        case catchingUp
    }

    private struct State {
        var phase = Phase.new
        /// The instant of the last heartbeat that has come back.
        var lastBeat = LoopInstant(nanoseconds: 0)
        var cutting: Task<Void, Never>?
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
            // Nothing of rooms is sent yet, so other output goes on.
            case .new, .cut: catchUp(&state, isHolding: false)
            case .catchingUp: break
            }
        }
    }

    /// When the lease has ended and no heartbeat comes back: begins to catch up, as the bus hangs. While the bus is
    /// disconnected, output goes on, but nothing of rooms is sent, and nothing from memory is used any more.
    private func look() {
        state.withLock { state in
            state.timer?.rearm(after: Self.lookInterval)
            guard case .leased(let end) = state.phase, end <= .now() else { return }
            guard !bus.isConnected else { return catchUp(&state, isHolding: true) }
            state.phase = .cut
            state.cutting = Task {
                for delivery in fanout.loops { await delivery.cut() }
                self.state.withLock { if case .cut = $0.phase { gate.open(until: nil) } }
            }
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
        state.catchingUp = Task { [cutting = state.cutting] in
            await cutting?.value
            await catchUp(isHolding, isNew: isNew)
        }
    }

    private func catchUp(_ isHolding: Bool, isNew: Bool) async {
        let deadline = LoopInstant.now() + (isNew ? Self.maxWaitAtStart : Self.maxWait)
        if isHolding { for delivery in fanout.loops { await delivery.endCut() } }
        while true {
            // A later heartbeat does not say that Rooms has waited for this gateway since the requests.
            let beat = state.withLock { $0.lastBeat }
            do {
                try await apply(by: deadline) { if !isHolding { gate.open(until: beat + Self.length) } }
                return state.withLock { extend(&$0, from: beat) }
            } catch {
                if !isHolding { gate.open(until: nil) }
                if .now() + Self.retryInterval < deadline, !Task.isCancelled {
                    try? await Task.sleep(for: Self.retryInterval)  // cancelled: the next attempt is the last
                    continue
                }
                return await giveUp(because: error, isHolding, isNew: isNew)
            }
        }
    }

    private func giveUp(because error: any Error, _ isHolding: Bool, isNew: Bool) async {
        if isHolding || isNew {
            let what = isNew ? "this gateway confirms none" : "sockets are closed"
            log.warning("\(what): changes of rooms' people are not known", ["error": "\(error)"])
        }
        // Sockets may have joined rooms meanwhile.
        for delivery in fanout.loops { await delivery.cut(closingAll: isHolding) }
        state.withLock { state in
            state.phase = isNew ? .new : .cut
            gate.open(until: nil)
        }
    }

    /// Applies the changes of rooms' people that are not complete, and those that are complete and not followed yet. The
    /// former are requested first, so none is missed.
    ///
    /// - Parameter willApply: called when all is known, just before it is applied.
    private func apply(by deadline: LoopInstant, _ willApply: () -> Void) async throws {
        // Before that, it is not known which of the changes become complete.
        guard let position = await fanout.position(of: .rooms) else { throw Self.noLog }
        let context = BusContext(requestID: "lease", timeout: deadline - .now(), isRepeatable: true)
        let pending = try await bus.askForAll(Subject.pendingChanges, context, of: "Rooms") { _ in }
        let missed = try await missedChanges(pending.compactMap(PeopleChange.init), after: position, by: deadline)
        memberships.forgetAll()
        willApply()
        // The log may be another one since, as after the restore of a backup.
        for delivery in fanout.loops { guard await delivery.apply(missed) else { throw Self.noLog } }
    }

    private func missedChanges(
        _ pending: [PeopleChange], after position: LogPosition, by deadline: LoopInstant
    ) async throws -> UnappliedChanges {
        let isNew = await !fanout.areCaughtUp()
        var query = isNew ? LogQuery(since: max(0, position.seq - Self.earlierEntries)) : LogQuery(after: position)
        var missed = UnappliedChanges(pending: pending, databaseID: position.databaseID, start: query.since)
        while true {
            let context = BusContext(requestID: "lease", timeout: deadline - .now(), isRepeatable: true)
            let page = try await entries.client.page(of: .rooms, query, context)
            guard page.isKnown, page.head.databaseID == position.databaseID else { throw Self.noLog }
            // Earlier ones may have been pruned.
            missed.start = max(missed.start, page.oldest - 1)
            missed.completed += page.entries.filter { $0.fact?.peopleChanged != nil }
            guard page.through < page.head.seq else { return missed }
            guard let last = page.entries.last else { throw Self.noLog }
            query = LogQuery(after: LogPosition(after: last, in: position.databaseID))
        }
    }
}

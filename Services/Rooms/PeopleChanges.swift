import ParlorContracts
import ParlorEventLog
import ParlorServiceKit
import ParlorStorage
import Synchronization

/// Completes changes of rooms' people: has them confirmed, then makes them visible and emits their events
/// (docs/membership.md). What a call stores is in `ChangePeople.swift`.
///
/// Each instance may complete any change, also one that another instance stored or that an earlier run has left. All steps may
/// be repeated.
final class PeopleChanges: Sendable {
    /// The interval at which it looks for changes that nobody completes.
    private static let lookInterval: Duration = .seconds(1)
    /// The pause after a failure of the database.
    private static let retryInterval: Duration = .milliseconds(250)
    /// The limit of rooms whose changes are confirmed at once: after an outage thousands may be pending, and each is sent to
    /// all keepers and gateways.
    static let maxConfirming = 100

    private struct State {
        /// The tasks that complete changes, by room.
        var completing: [String: Task<Void, Never>] = [:]
        /// The versions that calls wait for, by room.
        var versions: [String: Int] = [:]
        var looking: [Task<Void, Never>] = []
        var isStopped = false
    }

    private let database: any Database
    private let confirmation: Confirmation
    private let missed: MissedChanges
    private let slots = Slots(maxConfirming)
    private let clock: any WallClock
    private let log: Logger
    private let state = Mutex(State())

    init(
        database: any Database, confirmation: Confirmation, missed: MissedChanges, clock: any WallClock, log: Logger
    ) {
        self.database = database
        self.confirmation = confirmation
        self.missed = missed
        self.clock = clock
        self.log = log
    }

    func start() {
        let looking = [look, missed.deliverAll].map { body in
            Task { [log] in
                while !Task.isCancelled {
                    do {
                        try await body()
                    } catch {
                        log.warning("changes of people cannot be continued", ["error": "\(error)"])
                    }
                    try? await Task.sleep(for: Self.lookInterval)  // cancelled: the loop ends
                }
            }
        }
        state.withLock { $0.looking = looking }
    }

    func stop() async {
        let (looking, completing) = state.withLock { state in
            state.isStopped = true
            return (state.looking, Array(state.completing.values))
        }
        for task in completing + looking { task.cancel() }
        for task in completing + looking { await task.value }
    }

    private func look() async throws {
        for roomID in try await database.read({ try PendingChangesStore($0).roomIDs() }) { _ = complete(roomID) }
    }

    /// Waits until a room's pending change is completed.
    ///
    /// - Returns: false if it is not by the deadline, or if the service stops. It is completed all the same, later.
    func settle(_ change: PendingChange, by deadline: ContinuousClock.Instant) async throws -> Bool {
        while true {
            note(change)
            guard let task = complete(change.roomID) else { return false }
            guard await Self.ends(task, by: deadline) else { return false }
            // The task may have ended just before the change was stored.
            let pending = try await database.read { try PendingChangesStore($0).pending(in: change.roomID) }
            guard let pending, pending.has(change) else { return true }
            guard .now < deadline else { return false }
        }
    }

    /// Waits for a task, which goes on if the deadline comes first.
    private static func ends(_ task: Task<Void, Never>, by deadline: ContinuousClock.Instant) async -> Bool {
        let (results, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingOldest(1))
        let waiting = Task {
            await task.value
            continuation.yield(true)
        }
        let timing = Task {
            try? await Task.sleep(until: deadline)  // cancelled: the result is not used
            continuation.yield(false)
        }
        defer {
            waiting.cancel()
            timing.cancel()
        }
        for await result in results { return result }
        return false
    }

    // MARK: Completing

    /// Notes that a pending change has another version. The earlier one is not confirmed any more.
    func supersede(_ change: PendingChange) {
        note(change)
        _ = complete(change.roomID)
    }

    private func note(_ change: PendingChange) {
        state.withLock { $0.versions[change.roomID] = max($0.versions[change.roomID] ?? 0, change.version) }
    }

    /// - Returns: nil if the service stops.
    private func complete(_ roomID: String) -> Task<Void, Never>? {
        state.withLock { state in
            if let task = state.completing[roomID] { return task }
            guard !state.isStopped else { return nil }
            let turn = slots.enter()
            let task = Task { [self] in
                for await _ in turn {
                    await completeAll(in: roomID)
                    slots.leave()
                    break
                }
                self.state.withLock { state in
                    state.completing[roomID] = nil
                    state.versions[roomID] = nil
                }
            }
            state.completing[roomID] = task
            return task
        }
    }

    private func completeAll(in roomID: String) async {
        while !Task.isCancelled {
            do {
                guard try await completeOne(in: roomID) else { return }
            } catch is CancellationError {
                return
            } catch {
                log.warning("a change of people is still pending", ["room": roomID, "error": "\(error)"])
                try? await Task.sleep(for: Self.retryInterval)  // cancelled: the loop ends
            }
        }
    }

    /// - Returns: false if the room has no pending change.
    private func completeOne(in roomID: String) async throws -> Bool {
        let found = try await database.read { connection in
            let store = PendingChangesStore(connection)
            let isLast = try RoomsStore(connection).members(of: roomID).isEmpty
            return try store.pending(in: roomID).map { change in
                let keepers = try store.keepers().map {
                    Confirmation.Keeper(name: $0, missed: try store.missed(by: $0, in: roomID))
                }
                return (change: change, isLast: isLast, keepers: keepers)
            }
        }
        guard let found else { return false }
        let fence = found.change.change(isLast: found.isLast)
        let down: [String]?
        do {
            down = try await confirmation.confirm(fence, by: found.keepers) { [self] in
                state.withLock { $0.versions[roomID] ?? 0 } <= fence.version
            }
        } catch let higher as Confirmation.FenceIsHigher {
            // This database was restored from before the room's last changes.
            try await database.write { try PendingChangesStore($0).raise(found.change, above: higher.fence) }
            return true
        }
        // Another change has joined it.
        guard let down else { return true }
        try await database.write { [clock] connection in
            try Self.finish(found.change, without: down, at: clock.now(), on: connection)
        }
        return true
    }

    /// Makes a confirmed change visible, and emits its events; does nothing if another change has joined it.
    ///
    /// - Parameter down: the keepers without which it was confirmed.
    private static func finish(
        _ change: PendingChange, without down: [String], at now: Timestamp, on connection: any Connection
    ) throws {
        let (rooms, store) = (RoomsStore(connection), PendingChangesStore(connection))
        guard try store.pending(in: change.roomID)?.version == change.version else { return }
        try store.settlePeople(of: change.roomID)
        try store.remove(change)
        let found = try rooms.room(change.roomID)
        try store.settleMissed(change.change(isLast: found == nil), by: down)
        guard var room = found else {
            try store.deleteRoom(change.roomID)
            try EventLog.append(
                at: now, roomID: change.roomID, participants: [], emissions: [],
                fact: .roomDeleted(change.change(isLast: true)), on: connection)
            return try PeopleEvents.appendRemovals(of: change, at: now, on: connection)
        }
        var change = change
        if let heir = try rooms.appointHeir(in: room) {
            // The last owner left while others were being added.
            change.appoint(heir)
            room = try rooms.room(change.roomID) ?? room
        }
        let unchanged = room.updatedAt
        room.updatedAt = max(now, unchanged.adding(.milliseconds(1)))
        let events = PeopleEvents(change, in: room)
        // What was taken back has no event, and moves no time. Who follows the log has to learn of it all the same.
        if !events.isEmpty { try rooms.updateName(of: room) }
        try EventLog.append(
            at: now, roomID: room.id, participants: room.membership.userIDs, emissions: events.emissions,
            fact: .peopleChanged(change.change(isLast: false)), on: connection)
        try PeopleEvents.appendRemovals(of: change, at: now, on: connection)
    }
}

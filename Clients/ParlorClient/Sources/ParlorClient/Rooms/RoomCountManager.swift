import Observation

/// The counts of all rooms, for views.
///
/// The shown counts, ``rooms``, belong to the main actor. They change at most once in 100 ms: the first change is shown
/// at once, and those that follow it are shown together.
@MainActor @Observable
public final class RoomCountManager {
    /// The shortest time between two changes of ``rooms``. People cannot follow faster ones.
    public nonisolated static let interval: Duration = .milliseconds(100)

    private struct State: Sendable {
        var counts: RoomCounts
        var shownVersion = 0
        var isShowing = false
    }

    /// The shown counts by room. It has only the person's rooms.
    ///
    /// Messages that the person is reading are not counted: those whose receipt is on its way to the server, and those
    /// that arrive while the newest message is on the screen.
    public private(set) var rooms: [String: RoomCount] = [:]
    private nonisolated let state: Guarded<State>
    private nonisolated let clock: any ClientClock

    package nonisolated init(for userID: String, clock: any ClientClock) {
        state = Guarded(State(counts: RoomCounts(for: userID)))
        self.clock = clock
    }

    /// The shown count of a room; zeros if the room is not one of the person's.
    public subscript(roomID: String) -> RoomCount { rooms[roomID] ?? RoomCount() }

    /// The number of unread messages in all rooms, for the app's icon.
    public var unreadMessages: Int { rooms.values.reduce(0) { $0 + $1.unreadMessages } }
    /// The number of unseen elements in all rooms.
    public var unseenElements: Int { rooms.values.reduce(0) { $0 + $1.unseenElements } }

    /// Returns the newest count of a room as the server has it, which may not be shown yet. It includes messages that
    /// the person is reading, unlike the shown one. It is nil if the room is not one of the person's.
    package nonisolated func latest(of roomID: String) -> RoomCount? { state.withLock { $0.counts.rooms[roomID] } }

    /// Returns the newest count that is to be shown: without the messages that the person is reading.
    nonisolated func shownCount(of roomID: String) -> RoomCount? { state.withLock { $0.counts.shownCount(of: roomID) } }

    nonisolated func noteEnd(_ unread: Set<String>?, of roomID: String) { change { $0.noteEnd(unread, of: roomID) } }

    nonisolated func note(_ receipts: ReadReceipts.Change, in roomID: String) {
        change { $0.note(receipts, in: roomID) }
    }

    nonisolated func isOpen(_ roomID: String) -> Bool { state.withLock { $0.counts.isOpen(roomID) } }

    /// Applies an answer with all rooms, and removes rooms that are not in it.
    ///
    /// - Parameters:
    ///   - overtaken: the rooms that events have changed since the request. They stay as they are.
    ///   - degraded: the answer's `degraded` services. Their known counts stay as they are.
    package nonisolated func load(
        _ answer: [Room], keeping overtaken: Set<String> = [], degraded: [String] = []
    ) {
        change { $0.load(answer, keeping: overtaken, degraded: degraded) }
    }

    /// Applies an answer with one room.
    ///
    /// - Parameter degraded: the answer's `degraded` services. Their known counts stay as they are.
    package nonisolated func load(_ room: Room, degraded: [String] = []) {
        change { $0.load(room, degraded: degraded) }
    }

    /// Removes a room that is not the person's any more.
    package nonisolated func forget(_ roomID: String) { change { $0.forget(roomID) } }

    /// Applies an event.
    ///
    /// - Returns: true if the room has to be fetched, because earlier events were missed or are late.
    @discardableResult
    package nonisolated func apply(_ event: RoomEvent) -> Bool { change { $0.apply(event) } }

    /// Notes that events may have been missed: all rooms have to be loaded again.
    package nonisolated func noteAbsence() { change { $0.noteAbsence() } }

    /// Opens the room, and marks its elements as seen.
    package nonisolated func enter(_ roomID: String) { change { $0.enter(roomID) } }

    /// Closes the room. Later elements of others are unseen. Call it after the room was also left on the server.
    ///
    /// - Returns: true if the room has to be fetched, because the server may not know that elements were seen.
    @discardableResult
    package nonisolated func leave(_ roomID: String) -> Bool { change { $0.leave(roomID) } }

    private nonisolated func change<Result: Sendable>(_ body: @Sendable (inout RoomCounts) -> Result) -> Result {
        let (result, begins) = state.withLock { state in
            let result = body(&state.counts)
            let begins = state.counts.version != state.shownVersion && !state.isShowing
            if begins { state.isShowing = true }
            return (result, begins)
        }
        if begins { Task { await show() } }
        return result
    }

    /// Shows changes until there are no more.
    private func show() async {
        while let counts = takeChanges() {
            if rooms != counts { rooms = counts }
            // Only a cancellation would end the sleep early, and nothing cancels it.
            try? await clock.sleep(for: Self.interval)
        }
    }

    private nonisolated func takeChanges() -> [String: RoomCount]? {
        state.withLock { state in
            state.isShowing = state.counts.version != state.shownVersion
            state.shownVersion = state.counts.version
            return state.isShowing ? state.counts.shown : nil
        }
    }
}

import Observation

/// A board's state, and what is shown of it.
@MainActor
@Observable
final class BoardContents {
    /// What a change has to be written for.
    struct Effect: OptionSet {
        let rawValue: Int
        /// The person's changes and conflicts.
        static let changes = Effect(rawValue: 1)
        /// The server's elements.
        static let elements = Effect(rawValue: 2)
    }

    private(set) var items: [BoardItem] = []
    private(set) var conflicts: [BoardConflict] = []
    private(set) var unsentCount = 0

    @ObservationIgnored private(set) var state: BoardState
    @ObservationIgnored private(set) var isEnded = false
    /// Called after each change of the state.
    @ObservationIgnored var onChange: @MainActor (Effect) -> Void = { _ in }
    @ObservationIgnored private let showing: DelayedWork

    /// The pause before missed events that are replayed are shown, unless the replay ends earlier.
    private static let catchUpPause: Duration = .milliseconds(100)

    init(_ state: BoardState, clock: any ClientClock) {
        self.state = state
        showing = DelayedWork(clock)
    }

    /// Changes the state, and shows the result. All changes go through this or `changeSoon`, except for `takeNext()`,
    /// which marks the change that is being sent.
    func change(_ body: (inout BoardState) -> Void) {
        update(body)
        show()
    }

    /// Changes the state by an event of a replay. Such changes are shown together, because each showing looks at all
    /// elements.
    func changeSoon(_ body: (inout BoardState) -> Void) {
        update(body)
        showing.start(after: Self.catchUpPause) { [weak self] in self?.show() }
    }

    /// Returns the next change to send.
    func takeNext() -> BoardOperation? { state.takeNext() }

    private func update(_ body: (inout BoardState) -> Void) {
        guard !isEnded else { return }
        let before = (operations: state.operations, conflicts: state.conflicts, version: state.elementsVersion)
        body(&state)
        var effect: Effect = []
        if isChanged(since: before.operations) || state.conflicts != before.conflicts { effect.insert(.changes) }
        if state.elementsVersion != before.version { effect.insert(.elements) }
        onChange(effect)
    }

    /// True if a change has to be written. A move that waits for the next position is not written yet.
    private func isChanged(since before: [BoardOperation]) -> Bool {
        let held = state.heldMoves
        guard !held.isEmpty else { return state.operations != before }
        return state.operations.filter { !held.contains($0.id) } != before.filter { !held.contains($0.id) }
    }

    /// Shows all changes made so far.
    func show() {
        showing.cancel()
        guard !isEnded else { return }
        let shown = state.items
        if items != shown { items = shown }
        if conflicts != state.conflicts { conflicts = state.conflicts }
        if unsentCount != state.operations.count { unsentCount = state.operations.count }
    }

    /// Removes what is shown. From now on nothing changes.
    func end() {
        showing.cancel()
        isEnded = true
        (items, conflicts, unsentCount) = ([], [], 0)
    }
}

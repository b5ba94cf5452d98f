import Observation

/// A conversation's messages: the store, and what is shown of it.
@MainActor
@Observable
final class Timeline {
    /// The time within which replayed events are shown together.
    private let catchUpPause: Duration
    private(set) var items = MessageItems()
    /// Rises with every change of `items`.
    private(set) var version = 0
    private(set) var hasOlder = false

    @ObservationIgnored private(set) var store: MessageStore
    /// True once the person is no longer in the room. From then on nothing changes.
    @ObservationIgnored private(set) var isEnded = false
    /// Called after each change of the store, with the `tempID`s of messages that the server turned out to have.
    @ObservationIgnored var onChange: @MainActor (_ settled: [String]) -> Void = { _ in }
    /// Called when a change is shown.
    @ObservationIgnored var onShow: @MainActor () -> Void = {}
    /// The version of `store` that `items` shows.
    @ObservationIgnored private var shownVersion = 0
    @ObservationIgnored private let showing: DelayedWork

    init(_ store: MessageStore, catchUpPause: Duration, clock: any ClientClock) {
        self.store = store
        self.catchUpPause = catchUpPause
        showing = DelayedWork(clock)
    }

    /// Changes the messages, and shows the change at once. All changes go through this or `changeSoon`.
    func change(_ body: (inout MessageStore) -> Void) {
        update(body)
        show()
    }

    /// Changes the messages, and shows the change after `catchUpPause`, unless everything is shown earlier: when a replay
    /// of missed events is complete.
    func changeSoon(_ body: (inout MessageStore) -> Void) {
        update(body)
        guard store.version != shownVersion else { return }
        showing.start(after: catchUpPause) { [weak self] in self?.show() }
    }

    private func update(_ body: (inout MessageStore) -> Void) {
        guard !isEnded else { return }
        body(&store)
        onChange(store.takeSettled())
    }

    func markUnverified() { store.markUnverified() }

    /// Shows all changes made so far.
    func show() {
        showing.cancel()
        if hasOlder != store.hasOlder { hasOlder = store.hasOlder }
        guard store.version != shownVersion else { return }
        shownVersion = store.version
        items = store.items
        version += 1
        onShow()
    }

    /// Removes all messages for good.
    func end() {
        change { store in
            store.removeAllStored()
            store.setPending([])
        }
        isEnded = true
    }
}

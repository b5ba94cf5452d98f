import Foundation
import Observation

/// The rooms as events and answers change them, and as they are shown: answers and the person's own actions at once,
/// events at most once in 100 ms.
@MainActor
@Observable
final class ShownRooms {
    /// The rooms as they are shown. `store` may be ahead of them.
    private var shown: SortedRooms
    @ObservationIgnored var store: RoomStore
    @ObservationIgnored let counts: RoomCountManager
    /// Called with the shown rooms when one was added or removed.
    @ObservationIgnored var onMembership: @MainActor ([Room]) -> Void = { _ in }
    /// Called when changed rooms are shown.
    @ObservationIgnored var onShow: @MainActor () -> Void = {}
    @ObservationIgnored private let clock: any ClientClock
    /// The rooms whose rows do not show their latest counts yet.
    @ObservationIgnored private var stale: Set<String> = []
    /// True if an event's change was shown within the last 100 ms.
    @ObservationIgnored private var isResting = false
    /// The value of `people` for the shown rooms, once it has been computed.
    @ObservationIgnored private var groups: [PersonWithRooms]?

    init(_ store: RoomStore, clock: any ClientClock) {
        self.store = store
        self.clock = clock
        shown = store.sorted
        counts = RoomCountManager(for: store.userID, clock: clock)
    }

    var rooms: [Room] { shown.all }

    subscript(roomID: String) -> Room? { shown[roomID] }

    var people: [PersonWithRooms] {
        let rooms = rooms
        if let groups { return groups }
        let made = RoomsByPerson(rooms, for: store.userID).people
        groups = made
        return made
    }

    var order: RoomOrder {
        get {
            access(keyPath: \.order)
            return store.order
        }
        set {
            withMutation(keyPath: \.order) { store.order = newValue }
            show()
        }
    }

    /// Notes that these rooms have other counts.
    func noteCounts(of roomIDs: some Sequence<String>) { stale.formUnion(roomIDs) }

    /// Shows the change of an event. It is shown at once, unless another was shown within the last 100 ms. In that case
    /// it is shown when those 100 ms are over, together with other changes.
    ///
    /// A new or removed room is always shown at once, because code that creates rooms relies on it.
    func showSoon(_ roomID: String) {
        stale.insert(roomID)
        if isResting, store.sorted.membership == shown.membership { return }
        show()
        guard !isResting else { return }
        isResting = true
        // `weak`: the task ends with the list.
        Task { [weak self, clock] in
            repeat {
                // Only a cancellation would end the sleep early, and nothing cancels it.
                try? await clock.sleep(for: RoomCountManager.interval)
            } while self?.showAgain() == true
        }
    }

    private func showAgain() -> Bool {
        isResting = show()
        return isResting
    }

    /// Shows all changes made so far.
    ///
    /// - Returns: true if there were any.
    @discardableResult
    func show() -> Bool {
        for id in stale { takeCounts(of: id) }
        stale = []
        guard store.sorted.version != shown.version else { return false }
        let isSame = store.sorted.membership == shown.membership
        groups = nil
        shown = store.sorted
        if !isSame { onMembership(rooms) }
        onShow()
        return true
    }

    private func takeCounts(of roomID: String) {
        guard let count = counts.shownCount(of: roomID) else { return }
        store.change(roomID) { room in
            room.elementCount = count.elements
            room.badges = Room.Badges(
                messages: count.unreadMessages, elements: count.unseenElements, others: count.otherBadges)
            room.hasUnread = count.hasUnread
        }
    }
}

import Foundation

/// Finds badges that may not match the events so far, so that the room has to be fetched.
///
/// The gateway composes badges independently of the events of new messages and elements. So badges may lack a message or
/// element that is already counted here. Or they include one whose event is still to come, and which would then be
/// counted twice. In the latter case the badges are higher than the counts here. By the contract, a new message or
/// element itself causes no `room:badges` event.
struct BadgeDoubts {
    /// The open rooms whose unread count may be wrong.
    private var doubtful: Set<String> = []
    /// The time of each room's last message or element by another person.
    private var arrivedAt: [String: Date] = [:]

    /// Notes an event before it is counted.
    ///
    /// Reading changes the badges of an open room all the time. So it is fetched once, when it is left, unless later
    /// badges have matched.
    ///
    /// - Parameter shown: the rooms that a screen shows.
    /// - Returns: true if the room has to be fetched now.
    mutating func note(
        _ event: RoomEvent, _ counts: RoomCountManager, _ store: RoomStore, shown: Set<String>, now: Date
    ) -> Bool {
        if let (roomID, personID) = event.arrival, personID != store.userID, store.sorted.contains(roomID) {
            arrivedAt[roomID] = now
        }
        guard case .badges(let roomID, let badges, _) = event, let known = counts.latest(of: roomID) else {
            return false
        }
        let isLate = arrivedAt[roomID].map { now.timeIntervalSince($0) < RoomStore.doubtful } ?? false
        let isDoubtful = badges.messages > known.unreadMessages || isLate
        let isBoardOpen = counts.isOpen(roomID)
        if !isBoardOpen, badges.elements > known.unseenElements { return true }
        guard isBoardOpen || shown.contains(roomID) else { return isDoubtful }
        if isDoubtful { doubtful.insert(roomID) } else { doubtful.remove(roomID) }
        return false
    }

    /// Notes that a room is left.
    ///
    /// - Returns: true if it has to be fetched.
    mutating func leave(_ roomID: String) -> Bool { doubtful.remove(roomID) != nil }
}

/// The rules by which counts follow what the server tells.
///
/// - A room's elements are what an event says that they are after it, if its `rev` is newer than the last one seen: so an event
///   that is lost, late or doubled makes nothing drift. Older servers send no `rev`, and their events are added.
/// - What is made is unseen however late it is told, and once. What is lost shows in a `rev` that skips: then the room has to be
///   asked for.
/// - Others' elements are unseen while the room is not open; one's own never are. Deleting and clearing lower nothing; entering
///   zeroes, and what comes while the room is open is seen.
/// - Others' messages are unread until the server says otherwise. Each is counted once, whether the room is told of it, everyone,
///   or both.
/// - Rooms that were not loaded are not one's own, and leave no trace.
///
/// Pure. What it cannot know, a recovered room's number of elements for one, comes with the next answer.
public struct RoomCounts: Sendable {
    public let userID: String
    public private(set) var rooms: [String: RoomCount] = [:]
    /// Rises with each change of `rooms`.
    public private(set) var version = 0
    private var notes: [String: Notes] = [:]
    private var open: Set<String> = []
    /// Of the open ones, those where something unseen was taken for seen.
    private var zeroed: Set<String> = []

    private struct Notes: Sendable {
        var rev: Int?
        /// Whether the next rev is the one after it: not after an absence.
        var isFollowing = false
        var messages = RecentIDs()
        var created = RecentIDs()
        /// Of older servers, whose events are added.
        var deleted = RecentIDs(byCreation: false)
        var added = RecentIDs()
    }

    /// - Parameter userID: whose counts they are.
    public init(for userID: String) { self.userID = userID }

    /// Takes an answer with all rooms: what is not among them is forgotten, but for that it is open, if it comes back.
    ///
    /// - Parameters:
    ///   - overtaken: those that events have changed since the answer was asked for; they stay as they are.
    ///   - degraded: the answer's: what these services count stays as it is known, and is taken only where nothing is.
    public mutating func load(_ answer: [Room], keeping overtaken: Set<String> = [], degraded: [String] = []) {
        let (ids, missingFields) = (Set(answer.map(\.id)), RoomFieldSource.named(in: degraded))
        for id in rooms.keys where !ids.contains(id) && !overtaken.contains(id) { drop(id) }
        for room in answer where rooms[room.id] == nil || !overtaken.contains(room.id) {
            load(room, missingFields: missingFields)
        }
    }

    /// Takes an answer with one room.
    ///
    /// - Parameter degraded: as of all rooms.
    public mutating func load(_ room: Room, degraded: [String] = []) {
        load(room, missingFields: RoomFieldSource.named(in: degraded))
    }

    private mutating func load(_ room: Room, missingFields: Set<RoomFieldSource>) {
        var count = RoomCount(room)
        if let known = rooms[room.id] {
            if missingFields.contains(.elements) {
                (count.elements, count.unseenElements) = (known.elements, known.unseenElements)
            }
            if missingFields.contains(.messages) { count.unreadMessages = known.unreadMessages }
        }
        count.unseenElements = unseen(count.unseenElements, in: room.id)
        // An answer has counted all up to its last one, but for one that lacks these counts.
        let counted = missingFields.contains(.messages) ? nil : room.lastMessage?.id
        notes[room.id, default: Notes()].messages.skip(through: counted ?? "")
        set(count, of: room.id)
    }

    /// In an open room nothing is unseen.
    private mutating func unseen(_ count: Int, in roomID: String) -> Int {
        guard open.contains(roomID) else { return count }
        if count > 0 { zeroed.insert(roomID) }
        return 0
    }

    public mutating func forget(_ roomID: String) {
        leave(roomID)
        drop(roomID)
    }

    private mutating func drop(_ roomID: String) {
        notes[roomID] = nil
        if rooms.removeValue(forKey: roomID) != nil { version += 1 }
    }

    /// The room is open from now on: all in it is seen.
    public mutating func enter(_ roomID: String) {
        open.insert(roomID)
        guard var count = rooms[roomID] else { return }
        count.unseenElements = unseen(count.unseenElements, in: roomID)
        set(count, of: roomID)
    }

    /// - Returns: whether its room has to be asked for: something unseen was taken for seen, and the server may not have heard of
    ///   it, if the room was left before it was joined.
    @discardableResult
    public mutating func leave(_ roomID: String) -> Bool {
        open.remove(roomID)
        return zeroed.remove(roomID) != nil
    }

    /// Events may have been missed: a `rev` that skips is no news until the next one.
    public mutating func noteAbsence() {
        for id in notes.keys { notes[id]?.isFollowing = false }
    }

    /// - Returns: whether its room has to be asked for, as events before it were missed or are late.
    @discardableResult
    public mutating func apply(_ event: RoomEvent) -> Bool {
        switch event {
        case .messageNew(let message): countMessage(message.id, from: message.senderId, in: message.roomId)
        case .messageNewGlobal(let roomID, let messageID, let senderID, _):
            countMessage(messageID, from: senderID, in: roomID)
        case .elementCreated(let element):
            // Without its `:global` event if it was missed. Its number comes with an answer.
            countUnseen(element.id, by: element.createdBy, in: element.roomId)
        case .elementsChangedGlobal(let change): return apply(change)
        case .badges(let roomID, let badges, _):
            let elements = unseen(badges.elements, in: roomID)
            change(roomID) { ($0.unreadMessages, $0.unseenElements) = (badges.messages, elements) }
        // As it was when it was made: one that is known already has moved on.
        case .roomCreated(let room): if rooms[room.id] == nil { load(room) }
        default: break
        }
        return false
    }

    private mutating func apply(_ event: RoomEvent.ElementsChange) -> Bool {
        let roomID = event.roomID
        guard rooms[roomID] != nil, let note = notes[roomID] else { return false }
        var isNew = false
        if event.kind == .created, let id = event.elementID { isNew = countUnseen(id, by: event.userID, in: roomID) }
        var hasSkipped = false
        if let rev = event.rev {
            // Late: its count is old, and badges that came since may have counted it.
            if let known = note.rev, rev <= known { return isNew }
            hasSkipped = note.isFollowing && note.rev.map { $0 + 1 } != rev
            notes[roomID]?.rev = rev
            notes[roomID]?.isFollowing = true
        }
        if let count = event.elementCount {
            change(roomID) { $0.elements = count }
        } else if event.kind == .cleared {
            change(roomID) { $0.elements = 0 }
        } else if let id = event.elementID {
            add(event.kind, id, in: roomID)
        }
        return hasSkipped
    }

    private mutating func add(_ kind: RoomEvent.ElementsChange.Kind, _ id: String, in roomID: String) {
        switch kind {
        case .created where notes[roomID]?.added.insert(id) == true: change(roomID) { $0.elements += 1 }
        case .deleted where notes[roomID]?.deleted.insert(id) == true:
            change(roomID) { $0.elements = max(0, $0.elements - 1) }
        default: break
        }
    }

    private mutating func countMessage(_ id: String, from senderID: String, in roomID: String) {
        guard senderID != userID, notes[roomID]?.messages.insert(id) == true else { return }
        change(roomID) { $0.unreadMessages += 1 }
    }

    /// - Returns: whether it is another's, and was not told before.
    @discardableResult
    private mutating func countUnseen(_ id: String, by creatorID: String, in roomID: String) -> Bool {
        guard creatorID != userID, notes[roomID]?.created.insert(id) == true else { return false }
        // Seen if the server knows that the room is open, and of that it may not have heard yet.
        if open.contains(roomID) { zeroed.insert(roomID) } else { change(roomID) { $0.unseenElements += 1 } }
        return true
    }

    private mutating func change(_ roomID: String, _ body: (inout RoomCount) -> Void) {
        guard var count = rooms[roomID] else { return }
        body(&count)
        set(count, of: roomID)
    }

    private mutating func set(_ count: RoomCount, of roomID: String) {
        guard rooms.updateValue(count, forKey: roomID) != count else { return }
        version += 1
    }
}

/// The rules by which counts follow the server's events.
///
/// - An event sets a room's element count if its `rev` is newer than the last one seen. So lost, late and
///   repeated events cause no drift. Older servers send no count, so each creation or deletion changes it by one.
/// - Each created element is counted as unseen once, even if up to 64 events of later elements arrive before its own. A
///   skipped `rev` means a lost event, and the room has to be fetched.
/// - Others' elements are unseen if the room is not open; the person's own never are. Deletions do not
///   lower the unseen count. Opening the room sets it to zero, and elements that arrive while it is open are
///   seen.
/// - The badges of plugins come from the server alone. ``RoomCount/hasUnread`` takes them into account.
/// - Others' messages are unread until the server changes the count. Each is counted once, whether the event
///   to the room, the one to everyone, or both arrive.
/// - Messages that the person is reading are left out of ``shown``: those whose receipt is on its way to the server, and
///   those that arrive while the end of the room's messages is on the screen.
/// - A room that was not loaded is not one of the person's. Its events are ignored.
///
/// The type has no side effects. What events lack, such as the element count in a replay, comes with the next answer.
package struct RoomCounts: Sendable {
    /// The person whose counts they are.
    package let userID: String
    /// The counts by room, as the server has them.
    package private(set) var rooms: [String: RoomCount] = [:]
    /// The counts by room, without the messages that the person is reading.
    package var shown: [String: RoomCount] {
        var shown = rooms
        for id in Set(receipts.keys).union(ends.keys) { shown[id] = shownCount(of: id) }
        return shown
    }
    /// Rises with each change of `rooms` and `shown`.
    package private(set) var version = 0
    private var notes: [String: Notes] = [:]
    private var open: Set<String> = []
    /// The open rooms in which something unseen was marked as seen here. The server may not know that.
    private var zeroed: Set<String> = []
    /// The rooms whose newest message is on the screen, with the messages that have arrived there since. Their receipts
    /// are not on their way yet.
    private var ends: [String: Set<String>] = [:]
    /// The messages whose receipts are on their way, by room. The value is true once the server has the receipt, and
    /// its new count is still to come.
    private var receipts: [String: [String: Bool]] = [:]

    /// What is known of a room's events.
    private struct Notes: Sendable {
        /// The highest `rev` seen.
        var rev: Int?
        /// True if the next `rev` must be `rev` + 1; false after an absence.
        var isFollowing = false
        /// The messages that were counted.
        var messages = RecentIDs()
        /// The elements that were counted as unseen.
        var created = RecentIDs()
        /// The deleted elements in events of older servers, which have no count.
        var deleted = RecentIDs(byCreation: false)
        /// The created elements in events of older servers, which have no count.
        var added = RecentIDs()
    }

    /// - Parameter userID: the person whose counts they are.
    package init(for userID: String) { self.userID = userID }

    /// Applies an answer with all rooms, and removes rooms that are not in it. A removed room that is open stays open.
    ///
    /// - Parameters:
    ///   - overtaken: the rooms that events have changed since the request. They stay as they are.
    ///   - degraded: the answer's `degraded` services. Their known counts stay as they are.
    package mutating func load(_ answer: [Room], keeping overtaken: Set<String> = [], degraded: [String] = []) {
        let (ids, missingFields) = (Set(answer.map(\.id)), RoomFieldSource.named(in: degraded))
        for id in rooms.keys where !ids.contains(id) && !overtaken.contains(id) { drop(id) }
        for room in answer where rooms[room.id] == nil || !overtaken.contains(room.id) {
            load(room, missingFields: missingFields)
        }
    }

    /// Applies an answer with one room.
    ///
    /// - Parameter degraded: the answer's `degraded` services. Their known counts stay as they are.
    package mutating func load(_ room: Room, degraded: [String] = []) {
        load(room, missingFields: RoomFieldSource.named(in: degraded))
    }

    private mutating func load(_ room: Room, missingFields: Set<RoomFieldSource>) {
        var count = RoomCount(room)
        if let known = rooms[room.id] {
            if missingFields.contains(.elements) {
                (count.elements, count.unseenElements) = (known.elements, known.unseenElements)
            }
            if missingFields.contains(.messages) { count.unreadMessages = known.unreadMessages }
            if missingFields.contains(.others) { count.keepOthers(of: known) }
        }
        count.unseenElements = unseen(count.unseenElements, in: room.id)
        if !missingFields.contains(.messages) { dropCounted(in: room.id) }
        // Unless the answer lacks the message counts, it has counted all messages up to its last one.
        let counted = missingFields.contains(.messages) ? nil : room.lastMessage?.id
        notes[room.id, default: Notes()].messages.skip(through: counted ?? "")
        set(count, of: room.id)
    }

    /// Returns the server's unseen count, or zero for an open room, where everything is marked as seen.
    private mutating func unseen(_ count: Int, in roomID: String) -> Int {
        guard open.contains(roomID) else { return count }
        if count > 0 { zeroed.insert(roomID) }
        return 0
    }

    /// Removes a room that is not the person's any more.
    package mutating func forget(_ roomID: String) {
        leave(roomID)
        (ends[roomID], receipts[roomID]) = (nil, nil)
        drop(roomID)
    }

    private mutating func drop(_ roomID: String) {
        notes[roomID] = nil
        if rooms.removeValue(forKey: roomID) != nil { version += 1 }
    }

    func isOpen(_ roomID: String) -> Bool { open.contains(roomID) }

    /// Opens the room, and marks its elements as seen.
    package mutating func enter(_ roomID: String) {
        open.insert(roomID)
        guard var count = rooms[roomID] else { return }
        count.unseenElements = unseen(count.unseenElements, in: roomID)
        set(count, of: roomID)
    }

    /// Closes the room.
    ///
    /// - Returns: true if the room has to be fetched. Something was marked as seen, and the server may not
    ///   know that, for example if the room was left before it was joined.
    @discardableResult
    package mutating func leave(_ roomID: String) -> Bool {
        open.remove(roomID)
        return zeroed.remove(roomID) != nil
    }

    /// Notes that events may have been missed, so that all rooms have to be loaded again. The next `rev` of each room
    /// then may skip numbers without another fetch.
    package mutating func noteAbsence() {
        for id in notes.keys { notes[id]?.isFollowing = false }
    }

    /// Applies an event.
    ///
    /// - Returns: true if the room has to be fetched, because earlier events were missed or are late.
    @discardableResult
    package mutating func apply(_ event: RoomEvent) -> Bool {
        switch event {
        case .messageNew(let message): countMessage(message.id, from: message.senderID, in: message.roomID)
        case .messageNewGlobal(let roomID, let messageID, let senderID, _):
            countMessage(messageID, from: senderID, in: roomID)
        case .elementCreated(let element):
            // In a replay, no `:global` event follows. The element count then comes with an answer.
            countUnseen(element.id, by: element.createdBy, in: element.roomID)
        case .elementsChangedGlobal(let change): return apply(change)
        case .messagesRead(let roomID, userID, let ids, _):
            noteCounted(ids, in: roomID)
        case .badges(let roomID, let badges, let hasUnread):
            dropCounted(in: roomID)
            let elements = unseen(badges.elements, in: roomID)
            change(roomID) { count in
                count = RoomCount(elements: count.elements, badges: badges, hasUnread: hasUnread)
                count.unseenElements = elements
            }
        // The event has the room as it was created. If the room is known, it may have changed since.
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
            // The event is late, so its count is old. If its element is new, later badges may include it already.
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
        ends[roomID]?.insert(id)
        change(roomID) { $0.unreadMessages += 1 }
    }

    /// Counts an element of another person as unseen, unless the room is open or the element was counted before.
    ///
    /// - Returns: true if the element is another person's, and was not known.
    @discardableResult
    private mutating func countUnseen(_ id: String, by creatorID: String, in roomID: String) -> Bool {
        guard creatorID != userID, notes[roomID]?.created.insert(id) == true else { return false }
        // In an open room the element is seen here. The server may not know yet that the room is open.
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

// The messages that the person is reading.
extension RoomCounts {
    /// Notes whether the end of a room's messages is on the screen.
    ///
    /// - Parameter unread: the unread messages on the screen; nil if the newest message is not there. Of the messages
    ///   that have arrived, only these are still left out of ``shown``.
    mutating func noteEnd(_ unread: Set<String>?, of roomID: String) {
        changeShown(roomID) { counts in
            counts.ends[roomID] = unread.map { $0.intersection(counts.ends[roomID] ?? []) }
        }
    }

    mutating func note(_ receipts: ReadReceipts.Change, in roomID: String) {
        changeShown(roomID) { counts in
            switch receipts {
            case .collected(let ids):
                counts.ends[roomID]?.subtract(ids)
                for id in ids { counts.receipts[roomID, default: [:]][id] = false }
            case .sent(let ids):
                for id in ids where counts.receipts[roomID]?[id] != nil { counts.receipts[roomID]?[id] = true }
            case .refused(let ids):
                for id in ids { counts.receipts[roomID]?[id] = nil }
            }
        }
    }

    func shownCount(of roomID: String) -> RoomCount? {
        guard var count = rooms[roomID] else { return nil }
        let read = (ends[roomID]?.count ?? 0) + (receipts[roomID]?.count ?? 0)
        count.unreadMessages = max(0, count.unreadMessages - read)
        return count
    }

    /// Notes that the server counts messages as read. Until its new count comes, they are subtracted here.
    private mutating func noteCounted(_ ids: [String], in roomID: String) {
        changeShown(roomID) { counts in
            for id in ids {
                let isSent = counts.receipts[roomID]?.removeValue(forKey: id) != nil
                guard counts.ends[roomID]?.remove(id) != nil || isSent else { continue }
                counts.change(roomID) { $0.unreadMessages = max(0, $0.unreadMessages - 1) }
            }
        }
    }

    /// Drops the receipts that are part of a count which the server has just sent.
    private mutating func dropCounted(in roomID: String) {
        changeShown(roomID) { $0.receipts[roomID] = $0.receipts[roomID]?.filter { !$0.value } }
    }

    private mutating func changeShown(_ roomID: String, _ body: (inout RoomCounts) -> Void) {
        let before = shownCount(of: roomID)
        body(&self)
        if shownCount(of: roomID) != before { version += 1 }
    }
}

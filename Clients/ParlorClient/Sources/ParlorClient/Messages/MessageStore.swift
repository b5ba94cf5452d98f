import Foundation

/// One room's messages. The store has all rules about what is shown and in which order. It fetches and sends nothing.
///
/// ``items`` do not depend on the order in which data arrives, nor on how often it arrives. They are sorted by `seq`.
/// Each message is there once, and deleted ones are not. The person's messages that are not sent yet come last.
/// ``version`` rises with every change of ``items``, including a change of order alone, and only then.
///
/// The store knows which ranges of `seq` it has. A message whose number is missing within them was deleted.
package struct MessageStore: Sendable {
    /// The number of remembered ids. It covers the requests that are in progress when a message is deleted, not a whole
    /// history.
    private static let rememberedIDs = 1_000

    package let roomID: String
    package let ownID: String
    /// The people who have to read messages. A new one may show more of them as read.
    package var readership: Readership {
        didSet { if readership.isKnown { noteReadership() } }
    }

    package internal(set) var items = MessageItems()
    package private(set) var version = 0

    /// The ranges that the server has sent since the last ``markUnverified()``.
    var verified = SeqRanges()
    /// The lowest sort key loaded by pages. An event with a message below it is ignored, because that message comes
    /// with its page.
    var floor: Int?
    /// Deleted messages, which must not come back with a late event or an earlier page.
    var gone = RecentValues<Bool>(limit: rememberedIDs)
    /// The sort key of each stored message, by id.
    private var sortKeys: [String: Int] = [:]
    /// The `tempID`s of the person's stored messages.
    private(set) var ownTempIDs: Set<String> = []
    /// The `tempID`s of messages that are no longer pending, because the server has or had them. The outbox has to be
    /// notified of these.
    private(set) var settled: [String] = []
    /// The `tempID`s of settled messages, also after the outbox was notified. An earlier change of the outbox that
    /// arrives late must not show a deleted message as pending again.
    private(set) var everSettled = RecentValues<Bool>(limit: rememberedIDs)
    /// Receipts that arrived before their message.
    private(set) var earlyReceipts = RecentValues<[Message.Receipt]>(limit: rememberedIDs)

    package init(roomID: String, ownID: String, readership: Readership = Readership()) {
        self.roomID = roomID
        self.ownID = ownID
        self.readership = readership
    }

    /// True if the server has messages before the first one here. Before a page has come, there is at least what comes
    /// before the cached messages.
    package var hasOlder: Bool { (floor ?? items.stored.first?.seq ?? 1) > 1 }

    /// The lowest gap between verified ranges; nil if there is none.
    package var firstGap: ClosedRange<Int>? { verified.firstGap }

    /// Returns the newest stored messages, for a cache.
    package func newest(_ count: Int) -> [Message] { items.stored.suffix(count).compactMap(\.message) }

    /// Inserts a message from an event, or from the answer to sending it.
    package mutating func insert(_ message: Message) {
        guard message.roomID == roomID else { return }
        noteChange { store in
            let wasPending = message.senderID == store.ownID && store.settle(message.tempID)
            guard store.gone[message.id] == nil else { return wasPending }
            let isShown = store.items.slot(of: message.sortKey) != nil
            // A message without a `seq` has a time as its sort key. A time within a verified range does not prove that
            // the message was deleted: it may just be late.
            let isDeleted = message.seq != 0 && !isShown && store.verified.contains(message.sortKey)
            let isLoaded = message.sortKey >= store.floor ?? Message.lowestSortKey
            guard isShown || isLoaded, !isDeleted else { return wasPending }
            if isLoaded { store.verified.insert(message.sortKey) }
            return store.put(message) || wasPending
        }
    }

    /// Replaces the pending message with this `tempID` by the stored one.
    package mutating func confirm(_ tempID: String, as message: Message) {
        var stored = message
        stored.tempID = message.tempID ?? tempID
        noteChange { store in
            let before = store.version
            let wasPending = store.settle(tempID)
            store.insert(stored)
            return wasPending && store.version == before
        }
    }

    /// Deletes a message permanently.
    package mutating func delete(_ messageID: String) {
        noteChange { store in
            store.gone.set(true, for: messageID)
            guard let slot = store.slot(of: messageID) else { return false }
            store.removeStored(at: slot)
            return true
        }
    }

    /// Marks messages as read by a person.
    package mutating func markRead(_ messageIDs: [String], by userID: String, at time: Date) {
        let receipt = Message.Receipt(userID: userID, readAt: time)
        noteChange { store in
            var hasChanged = false
            for id in messageIDs {
                guard let slot = store.slot(of: id), var message = store.items[slot].message else {
                    let others = (store.earlyReceipts[id] ?? []).filter { $0.userID != userID }
                    store.earlyReceipts.set(others + [receipt], for: id)
                    continue
                }
                guard store.add(receipt, to: &message) else { continue }
                store.items[slot] = MessageItem(message, ownID: store.ownID)
                hasChanged = true
            }
            return hasChanged
        }
    }

    /// Removes a pending message that the server has or had.
    ///
    /// - Returns: true if it was pending.
    mutating func settle(_ tempID: String?) -> Bool {
        guard let tempID, dropPending(tempID) else { return false }
        noteSettled([tempID])
        return true
    }

    mutating func noteSettled(_ tempIDs: [String]) {
        settled += tempIDs
        for tempID in tempIDs { everSettled.set(true, for: tempID) }
    }

    mutating func takeSettled() -> [String] {
        defer { settled = [] }
        return settled
    }

    /// Runs a change. If it returns true, which means that it has changed something, `version` rises by one.
    mutating func noteChange(_ change: (inout MessageStore) -> Bool) {
        if change(&self) { version += 1 }
    }

    /// Stores a message at its position, merged with what is known about it.
    ///
    /// - Parameter hasExtras: true if the message has all fields of plugins. Pages have them, unless a service
    ///   did not answer. Messages in events, and in replies to a send, have none.
    /// - Returns: true if anything changed.
    mutating func put(_ message: Message, hasExtras: Bool = false) -> Bool {
        var message = message
        for receipt in earlyReceipts[message.id] ?? [] { _ = add(receipt, to: &message) }
        message.readBy.sort { ($0.readAt, $0.userID) < ($1.readAt, $1.userID) }
        if message.senderID == ownID, let tempID = message.tempID { ownTempIDs.insert(tempID) }
        defer { sortKeys[message.id] = message.sortKey }
        guard let slot = items.slot(of: message.sortKey) else {
            items.insert(MessageItem(message, ownID: ownID), at: message.sortKey)
            return true
        }
        // The data may be older than the known message, so receipts are only ever added.
        if let known = items[slot].message, known.id == message.id {
            for receipt in known.readBy where !message.readBy.contains(where: { $0.userID == receipt.userID }) {
                _ = add(receipt, to: &message)
            }
            message.isRead = message.isRead || known.isRead
            message.tempID = message.tempID ?? known.tempID
            message.sender = message.sender ?? known.sender
            if !hasExtras { message.extras.keepKnown(known.extras) }
        } else {
            forget(items[slot])
        }
        let item = MessageItem(message, ownID: ownID)
        guard items[slot] != item else { return false }
        items[slot] = item
        return true
    }

    mutating func removeStored(at slot: MessageItems.Slot) {
        forget(items[slot])
        items.remove(at: slot)
    }

    private mutating func forget(_ item: MessageItem) {
        guard let message = item.message else { return }
        sortKeys[message.id] = nil
        if message.senderID == ownID, let tempID = message.tempID { ownTempIDs.remove(tempID) }
    }

    mutating func removeEveryStored() {
        items.removeAllStored()
        sortKeys = [:]
        ownTempIDs = []
    }

    private func slot(of messageID: String) -> MessageItems.Slot? {
        sortKeys[messageID].flatMap { items.slot(of: $0) }
    }

    private mutating func noteReadership() {
        noteChange { store in
            var hasChanged = false
            for slot in (0..<store.items.storedCount).map(store.items.slot) {
                guard var message = store.items[slot].message, !message.isRead, store.readership.haveAllRead(message)
                else { continue }
                message.isRead = true
                store.items[slot] = MessageItem(message, ownID: store.ownID)
                hasChanged = true
            }
            return hasChanged
        }
    }

    private func add(_ receipt: Message.Receipt, to message: inout Message) -> Bool {
        guard receipt.userID != message.senderID else { return false }
        let before = message
        message.readBy.removeAll { $0.userID == receipt.userID }
        message.readBy.append(receipt)
        message.readBy.sort { ($0.readAt, $0.userID) < ($1.readAt, $1.userID) }
        message.isRead = message.isRead || readership.haveAllRead(message)
        return message != before
    }
}

extension MessageStore: Equatable {
    /// True if both show the same.
    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.roomID == rhs.roomID && lhs.items == rhs.items }
}

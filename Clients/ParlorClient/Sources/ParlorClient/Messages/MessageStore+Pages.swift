/// The position for which a page was requested. If the page is empty, the server has no messages there.
package enum PagePosition: Equatable, Sendable {
    case newest
    /// The newest page as it was earlier, from the cache. The server may have later messages.
    case earlierNewest
    case before(Int)
    /// A gap to fill, from its first number on.
    case gap(ClosedRange<Int>)
}

extension MessageStore {
    /// Shows cached messages. The server may correct them.
    package mutating func showCached(_ messages: [Message]) {
        noteChange { store in
            var hasChanged = false
            for message in messages where message.roomID == store.roomID && store.gone[message.id] == nil {
                // Cached messages never replace what the server has sent meanwhile.
                guard store.items.slot(of: message.sortKey) == nil, !store.verified.contains(message.sortKey) else {
                    continue
                }
                if message.senderID == store.ownID { _ = store.settle(message.tempID) }
                hasChanged = store.put(message) || hasChanged
            }
            return hasChanged
        }
    }

    /// Marks all messages as unverified, because events may have been missed. They stay visible, and have to be
    /// fetched again.
    package mutating func markUnverified() { verified.removeAll() }

    /// The lowest and the highest `seq` of the messages that were not fetched since ``markUnverified()``; nil if there
    /// are none. Messages without a `seq` do not count, because pages cannot be requested by time.
    var unverified: ClosedRange<Int>? {
        let isUnverified = { (item: MessageItem) in item.seq.map { !verified.contains($0) } ?? false }
        guard let low = items.stored.first(where: isUnverified)?.seq,
            let high = items.stored.last(where: isUnverified)?.seq
        else { return nil }
        return low...high
    }

    /// Merges a page from the server. A message that is missing within the page's bounds is deleted.
    ///
    /// Events that arrive while a page is fetched are newer than the page. So a deleted message does not come back, and
    /// messages above the page's last one stay, unless they are unverified.
    package mutating func merge(_ page: Page<Message>, asked position: PagePosition) {
        // The server may order messages without a `seq` in another way.
        let messages = page.items.filter { $0.roomID == roomID }.sorted { $0.sortKey < $1.sortKey }
        noteChange { store in
            var hasChanged = false
            if let covered = store.bounds(of: messages, hasMore: page.next != nil, asked: position) {
                let listed = Set(messages.map(\.sortKey))
                hasChanged = store.removeStored(in: covered, except: listed)
                store.verified.insert(covered)
            }
            for message in messages {
                if message.senderID == store.ownID, store.settle(message.tempID) { hasChanged = true }
                let isNew = store.gone[message.id] == nil && store.put(message, hasExtras: page.degraded.isEmpty)
                if isNew { hasChanged = true }
            }
            if case .gap = position { return hasChanged }
            let lowest = page.next == nil ? Message.lowestSortKey : messages.first?.sortKey
            store.floor = [store.floor, lowest].compactMap(\.self).min()
            return hasChanged
        }
    }

    /// Removes messages that were not fetched since ``markUnverified()``. They come back with older pages.
    package mutating func dropUnverified() {
        noteChange { store in
            let dropped = store.items.stored.compactMap(\.sortKey).filter { !store.verified.contains($0) }
            for seq in dropped {
                if let slot = store.items.slot(of: seq) { store.removeStored(at: slot) }
            }
            if let lowest = store.verified.lowest { store.floor = lowest }
            return !dropped.isEmpty
        }
    }

    /// Removes all stored messages of a room that the person is no longer in. Unsent messages stay.
    package mutating func removeAllStored() {
        noteChange { store in
            let hadAny = store.items.storedCount > 0
            store.removeEveryStored()
            store.verified.removeAll()
            store.floor = nil
            return hadAny
        }
    }

    /// Returns the range of sort keys that a page covers completely; nil if it covers none.
    private func bounds(of messages: [Message], hasMore: Bool, asked position: PagePosition) -> ClosedRange<Int>? {
        let low: Int?
        let high: Int?
        switch position {
        case .newest:
            low = hasMore ? messages.first?.sortKey : Message.lowestSortKey
            // An unverified message was on the server before the page was requested. If the page lacks it, it was
            // deleted.
            let unverified = items.stored.last { !verified.contains($0.sortKey ?? 0) }?.sortKey
            high = [messages.last?.sortKey, unverified].compactMap(\.self).max()
        case .earlierNewest:
            low = hasMore ? messages.first?.sortKey : Message.lowestSortKey
            high = messages.last?.sortKey
        case .before(let seq):
            low = hasMore ? messages.first?.sortKey : Message.lowestSortKey
            high = seq - 1
        case .gap(let gap):
            low = gap.lowerBound
            high = hasMore ? messages.last?.sortKey : max(messages.last?.sortKey ?? 0, gap.upperBound)
        }
        guard let low, let high, low <= high else { return nil }
        return low...high
    }

    private mutating func removeStored(in range: ClosedRange<Int>, except listed: Set<Int>) -> Bool {
        var hasRemoved = false
        var index = items.index(atOrAfter: range.lowerBound)
        while index < items.storedCount, let message = items[index].message, message.sortKey <= range.upperBound {
            if listed.contains(message.sortKey) {
                index += 1
                continue
            }
            gone.set(true, for: message.id)
            removeStored(at: items.slot(at: index))
            hasRemoved = true
        }
        return hasRemoved
    }
}

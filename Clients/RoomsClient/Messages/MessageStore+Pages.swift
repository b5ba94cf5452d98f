/// The position for which a page was requested. If nothing is on it, nothing is on the server.
public enum PagePosition: Equatable, Sendable {
    case newest
    case before(Int)
    /// To fill what is missing: from its first on.
    case gap(ClosedRange<Int>)
}

extension MessageStore {
    /// Shows cached messages. The server may correct them.
    public mutating func showCached(_ messages: [Message]) {
        noteChange { store in
            var hasChanged = false
            for message in messages where message.roomId == store.roomID && store.gone[message.id] == nil {
                // Never over what the server has told meanwhile.
                guard store.items.slot(of: message.sortKey) == nil, !store.verified.contains(message.sortKey) else {
                    continue
                }
                if message.senderId == store.ownID { _ = store.settle(message.tempId) }
                hasChanged = store.put(message) || hasChanged
            }
            return hasChanged
        }
    }

    /// Something may have been missed: all that is shown stays, and has to be fetched again.
    public mutating func markUnverified() { verified.removeAll() }

    /// A page as the server answered: what it does not have within its bounds is deleted.
    ///
    /// A page is older than the events that arrive while it is fetched. Those win: a deleted message is not brought back, and
    /// what is above the page's last stays, unless it was there unverified before.
    public mutating func merge(_ page: Page<Message>, asked position: PagePosition) {
        // By time and id, a server may have them in another order.
        let messages = page.items.filter { $0.roomId == roomID }.sorted { $0.sortKey < $1.sortKey }
        noteChange { store in
            var hasChanged = false
            if let covered = store.bounds(of: messages, hasMore: page.next != nil, asked: position) {
                let listed = Set(messages.map(\.sortKey))
                hasChanged = store.removeStored(in: covered, except: listed)
                store.verified.insert(covered)
            }
            for message in messages {
                if message.senderId == store.ownID, store.settle(message.tempId) { hasChanged = true }
                if store.gone[message.id] == nil, store.put(message) { hasChanged = true }
            }
            if case .gap = position { return hasChanged }
            let lowest = page.next == nil ? Message.lowestSortKey : messages.first?.sortKey
            store.floor = [store.floor, lowest].compactMap(\.self).min()
            return hasChanged
        }
    }

    /// Takes away what has not been fetched since ``markUnverified()``; it comes back as older pages.
    public mutating func dropUnverified() {
        noteChange { store in
            let dropped = store.items.stored.compactMap(\.sortKey).filter { !store.verified.contains($0) }
            for seq in dropped {
                if let slot = store.items.slot(of: seq) { store.removeStored(at: slot) }
            }
            if let lowest = store.verified.lowest { store.floor = lowest }
            return !dropped.isEmpty
        }
    }

    /// The room is no longer one's own: nothing of it stays but what was not sent.
    public mutating func removeAllStored() {
        noteChange { store in
            let hadAny = store.items.storedCount > 0
            store.removeEveryStored()
            store.verified.removeAll()
            store.floor = nil
            return hadAny
        }
    }

    /// The stretch of the counter about which a page says everything.
    private func bounds(of messages: [Message], hasMore: Bool, asked position: PagePosition) -> ClosedRange<Int>? {
        let low: Int?
        let high: Int?
        switch position {
        case .newest:
            low = hasMore ? messages.first?.sortKey : Message.lowestSortKey
            // What stood here unverified was on the server before the page was asked for.
            let unverified = items.stored.last { !verified.contains($0.sortKey ?? 0) }?.sortKey
            high = [messages.last?.sortKey, unverified].compactMap(\.self).max()
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

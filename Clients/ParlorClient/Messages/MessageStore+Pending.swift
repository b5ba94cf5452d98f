extension MessageStore {
    /// Adds a message just typed, or one restored from disk, after all the others.
    ///
    /// A message that the server is known to have is not shown twice.
    public mutating func addPending(_ message: PendingMessage) {
        let item = MessageItem(message, ownID: ownID)
        noteChange { store in
            guard store.pendingIndex(message.tempID) == nil, !store.hasStored(message.tempID) else { return false }
            store.items.pending.append(item)
            return true
        }
    }

    /// Sets a message to waiting, under way or failed. One that is no longer pending is left alone.
    public mutating func setState(_ state: PendingMessage.State, of tempID: String) {
        noteChange { store in
            guard let index = store.pendingIndex(tempID), var message = store.items.pending[index].pending,
                message.state != state
            else { return false }
            message.state = state
            store.items.pending[index] = MessageItem(message, ownID: store.ownID)
            return true
        }
    }

    public mutating func removePending(_ tempID: String) {
        noteChange { $0.dropPending(tempID) }
    }

    /// Replaces the pending messages; all others stay.
    public mutating func setPending(_ messages: [PendingMessage]) {
        noteSettled(messages.map(\.tempID).filter(hasStored))
        let shown = messages.filter { !hasStored($0.tempID) }.map { MessageItem($0, ownID: ownID) }
        noteChange { store in
            guard store.items.pending != shown else { return false }
            store.items.pending = shown
            return true
        }
    }

    mutating func dropPending(_ tempID: String) -> Bool {
        guard let index = pendingIndex(tempID) else { return false }
        items.pending.remove(at: index)
        return true
    }

    private func pendingIndex(_ tempID: String) -> Int? {
        items.pending.firstIndex { $0.id == tempID }
    }

    private func hasStored(_ tempID: String) -> Bool { ownTempIDs.contains(tempID) || everSettled[tempID] != nil }
}

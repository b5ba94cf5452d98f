extension MessageStore {
    /// Adds a typed message, or one restored from disk, after all the others.
    ///
    /// It is ignored if it is already pending, or if the server is known to have stored it.
    package mutating func addPending(_ message: PendingMessage) {
        let item = MessageItem(message, ownID: ownID)
        noteChange { store in
            guard store.pendingIndex(message.tempID) == nil, !store.hasStored(message.tempID) else { return false }
            store.items.pending.append(item)
            return true
        }
    }

    /// Sets the state of a pending message. Does nothing if the message is no longer pending.
    package mutating func setState(_ state: PendingMessage.State, of tempID: String) {
        noteChange { store in
            guard let index = store.pendingIndex(tempID), var message = store.items.pending[index].pending,
                message.state != state
            else { return false }
            message.state = state
            store.items.pending[index] = MessageItem(message, ownID: store.ownID)
            return true
        }
    }

    package mutating func removePending(_ tempID: String) {
        noteChange { $0.dropPending(tempID) }
    }

    /// Replaces all pending messages. Those that the server is known to have stored are left out.
    package mutating func setPending(_ messages: [PendingMessage]) {
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

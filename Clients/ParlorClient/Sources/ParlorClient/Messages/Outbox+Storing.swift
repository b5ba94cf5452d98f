/// The initial value of `Outbox.keptFailure`, before the stored messages are read for the first time.
struct NotTakenOver: Error {}

/// The outbox's messages in memory and on disk.
extension Outbox {
    /// Reads the stored messages, unless that has succeeded before. It has to be called before anything is written:
    /// otherwise a new message could get the number of a stored one.
    func takeOverKept() {
        guard keptFailure != nil, !isStopped else { return }
        do {
            let kept = try files.readAll { failures.append($0) }
            keptFailure = nil
            let last = kept.values.compactMap(\.last?.number).max() ?? 0
            lastNumber += last
            // Messages that were typed while the disk could not be read come after all stored ones.
            for (roomID, queue) in queues {
                for index in queue.entries.indices { queues[roomID]?.entries[index].number += last }
            }
            for (roomID, entries) in kept { takeOver(entries, in: roomID) }
            if let onRead { Task { await onRead() } }
        } catch {
            keptFailure = error
        }
    }

    private func takeOver(_ entries: [OutboxEntry], in roomID: String) {
        queues[roomID, default: Queue()].entries.insert(contentsOf: entries, at: 0)
        queues[roomID]?.version += 1
        noteFailedRoom(roomID)
        wake(roomID)
        guard queues[roomID]?.followers.isEmpty == false else { return }
        Task { await notifyObservers(.all(messages(in: roomID)), in: roomID) }
    }

    /// Sets a message's state, and notifies the followers. The file is written only if the old or the new state is
    /// failed.
    ///
    /// - Parameter state: `failed` is used instead if the message cannot be stored.
    func setState(_ state: PendingMessage.State, of tempID: String, in roomID: String) async {
        guard let index = index(of: tempID, in: roomID), let before = queues[roomID]?.entries[index].message.state
        else { return }
        queues[roomID]?.entries[index].message.state = state
        var state = state
        if before.isFailed || state.isFailed { state = keep(tempID, in: roomID) } else { queues[roomID]?.version += 1 }
        await notifyObservers(.state(tempID: tempID, state), in: roomID)
    }

    func remove(_ tempID: String, in roomID: String) {
        guard let index = index(of: tempID, in: roomID), let entry = queues[roomID]?.entries.remove(at: index) else {
            return
        }
        queues[roomID]?.version += 1
        noteFailedRoom(roomID)
        removeFile(of: entry, in: roomID)
    }

    func removeFile(of entry: OutboxEntry, in roomID: String) {
        guard entry.isKept, !isStopped else { return }
        // If the file stays, its message is sent after a restart. The server does not store it twice, and refuses it if
        // the room is gone.
        try? files.remove(entry, of: roomID)
    }

    /// Writes a message in its present state. If it is not on disk and cannot be written, it is set to failed, because
    /// it would be lost with the app.
    ///
    /// - Returns: its state afterwards.
    func keep(_ tempID: String, in roomID: String) -> PendingMessage.State {
        guard let index = index(of: tempID, in: roomID), var entry = queues[roomID]?.entries[index] else {
            return .queued
        }
        do {
            if let keptFailure { throw keptFailure }
            if !isStopped {
                try files.write(entry, of: roomID)
                entry.isKept = true
            }
        } catch {
            // If there is a file already, only the state in it is outdated. The message itself is not lost.
            if !entry.isKept {
                entry.message.state = .failed(SendFailure(code: "not_kept", message: error.localizedDescription))
            }
        }
        queues[roomID]?.entries[index] = entry
        queues[roomID]?.version += 1
        noteFailedRoom(roomID)
        return entry.message.state
    }

    func notifyObservers(_ change: OutboxChange, in roomID: String) async {
        let followers = (queues[roomID]?.followers ?? [:]).sorted { $0.key < $1.key }
        for follower in followers { await follower.value(change) }
    }

    func index(of tempID: String, in roomID: String) -> Int? {
        queues[roomID]?.entries.firstIndex { $0.message.tempID == tempID }
    }
}

/// What stands for the reason while nobody has tried to read what is kept.
struct NotTakenOver: Error {}

/// What the outbox has, here and on the disk.
extension Outbox {
    /// Reads what is kept, before anything is written: a number that is not known to be taken would be given twice.
    func takeOverKept() {
        guard keptFailure != nil, !isStopped else { return }
        do {
            let kept = try files.readAll { failures.append($0) }
            keptFailure = nil
            let last = kept.values.compactMap(\.last?.number).max() ?? 0
            lastNumber += last
            // Typed while the disk refused: behind all that it has.
            for (roomID, queue) in queues {
                for index in queue.entries.indices { queues[roomID]?.entries[index].number += last }
            }
            for (roomID, entries) in kept { takeOver(entries, in: roomID) }
        } catch {
            keptFailure = error
        }
    }

    private func takeOver(_ entries: [OutboxEntry], in roomID: String) {
        queues[roomID, default: Queue()].entries.insert(contentsOf: entries, at: 0)
        queues[roomID]?.version += 1
        wake(roomID)
        guard queues[roomID]?.followers.isEmpty == false else { return }
        Task { await notifyObservers(.all(messages(in: roomID)), in: roomID) }
    }

    /// - Parameter state: that of a message which cannot be kept is `failed` instead.
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
        removeFile(of: entry, in: roomID)
    }

    func removeFile(of entry: OutboxEntry, in roomID: String) {
        guard entry.isKept, !isStopped else { return }
        // A file that is still there is sent again after a restart, and stored once.
        try? files.remove(entry, of: roomID)
    }

    /// Writes a message as it is. One that is not on the disk, and cannot get there, has failed: it would be lost with the app.
    ///
    /// - Returns: its state then.
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
            // A file that is behind has one as waiting that has failed, or the other way round: neither loses it.
            if !entry.isKept {
                entry.message.state = .failed(SendFailure(code: "not_kept", message: error.localizedDescription))
            }
        }
        queues[roomID]?.entries[index] = entry
        queues[roomID]?.version += 1
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

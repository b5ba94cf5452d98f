import Foundation

/// The reason why stored messages are missing before they are read for the first time.
private struct NotRead: Error {}

/// The outbox's messages, in memory and on disk.
///
/// Nothing is written before the stored messages are read: a new message could get the number of a stored one.
final class OutboxMessages {
    private struct Room {
        /// In the order typed.
        var entries: [OutboxEntry] = []
        /// Rises with every change of `entries`.
        var version = 0
    }

    private let files: OutboxFiles
    /// Called when a room gets its first failed message, or has none any more.
    private let onFailedRooms: (FailedRooms) -> Void
    private var rooms: [String: Room] = [:]
    private var failedRooms = FailedRooms()
    /// The number of the last typed message.
    private var lastNumber = 0
    /// Why the stored messages could not be read at the last attempt; nil once they have been.
    private(set) var readFailure: (any Error)? = NotRead()
    /// The unreadable files that ``takeUnreadable()`` has not returned yet.
    private var unreadable: [OutboxFailure] = []
    /// True if nothing is written any more.
    private(set) var isStopped = false

    init(files: OutboxFiles, onFailedRooms: @escaping (FailedRooms) -> Void) {
        self.files = files
        self.onFailedRooms = onFailedRooms
    }

    // MARK: Reading

    /// Reads the stored messages, unless that has succeeded before.
    ///
    /// - Returns: the rooms that have stored messages; nil if nothing was read now.
    func restore() -> [String]? {
        guard readFailure != nil, !isStopped else { return nil }
        do {
            let stored = try files.readAll { unreadable.append($0) }
            readFailure = nil
            let last = stored.values.compactMap(\.last?.number).max() ?? 0
            lastNumber += last
            // Messages that were typed while the disk could not be read come after all stored ones.
            for (roomID, room) in rooms {
                for index in room.entries.indices { rooms[roomID]?.entries[index].number += last }
            }
            for (roomID, entries) in stored {
                change(roomID) { $0.insert(contentsOf: entries, at: 0) }
            }
            return Array(stored.keys)
        } catch {
            readFailure = error
            return nil
        }
    }

    /// Returns each file that could not be read once.
    func takeUnreadable() -> [OutboxFailure] {
        defer { unreadable = [] }
        return unreadable
    }

    /// Returns a room's messages in the order typed. Messages that have not been read from the disk yet are left out.
    func messages(in roomID: String) -> [PendingMessage] { rooms[roomID]?.entries.map(\.message) ?? [] }

    func version(of roomID: String) -> Int { rooms[roomID]?.version ?? 0 }

    func entry(_ tempID: String, in roomID: String) -> OutboxEntry? {
        rooms[roomID]?.entries.first { $0.message.tempID == tempID }
    }

    func firstQueued(in roomID: String) -> OutboxEntry? {
        rooms[roomID]?.entries.first { $0.message.state == .queued }
    }

    /// Returns how many messages, in all rooms, are not known to be on the server. If the stored messages were not read
    /// yet, it counts their files.
    ///
    /// - Throws: the file system's error; the refusal `not_forgotten`.
    func count() throws -> Int {
        // Each message has a file of its own.
        let stored = readFailure == nil ? 0 : try files.files.keys().count
        return rooms.values.reduce(stored) { $0 + $1.entries.count }
    }

    // MARK: Changing

    /// Adds a message after all others, and writes it.
    ///
    /// - Returns: the message; failed if it is not on disk.
    func add(_ message: PendingMessage, in roomID: String) -> PendingMessage {
        lastNumber += 1
        var entry = OutboxEntry(message: message, number: lastNumber, isKept: false)
        entry.message.state = .queued
        change(roomID) { $0.append(entry) }
        entry.message.state = keep(message.tempID, in: roomID)
        return entry.message
    }

    /// Sets a message's state. The file is written only if the old or the new state is failed.
    ///
    /// - Returns: the state, which is failed if the message cannot be stored; nil if there is no such message.
    func setState(_ state: PendingMessage.State, of tempID: String, in roomID: String) -> PendingMessage.State? {
        guard let before = entry(tempID, in: roomID)?.message.state else { return nil }
        update(tempID, in: roomID) { $0.message.state = state }
        return before.isFailed || state.isFailed ? keep(tempID, in: roomID) : state
    }

    /// Queues a failed message again.
    ///
    /// - Returns: its state, as of ``setState(_:of:in:)``; nil if it has not failed.
    func retry(_ tempID: String, in roomID: String, at time: Date) -> PendingMessage.State? {
        guard entry(tempID, in: roomID)?.message.state.isFailed == true else { return nil }
        update(tempID, in: roomID) { $0.retriedAt = time }
        return setState(.queued, of: tempID, in: roomID)
    }

    /// Deletes a message's file, and then the message.
    ///
    /// - Throws: the file system's error. The message then stays, because the next run would send it from its file.
    func discard(_ tempID: String, in roomID: String) throws {
        guard let entry = entry(tempID, in: roomID) else { return }
        if entry.isKept { try files.remove(entry, of: roomID) }
        update(tempID, in: roomID) { $0.isKept = false }
        remove(tempID, in: roomID)
    }

    /// Removes a message that the server has.
    func remove(_ tempID: String, in roomID: String) {
        guard let entry = entry(tempID, in: roomID) else { return }
        change(roomID) { $0.removeAll { $0.number == entry.number } }
        removeFile(of: entry, in: roomID)
    }

    /// - Returns: false if the room has no message.
    func removeAll(in roomID: String) -> Bool {
        guard let entries = rooms[roomID]?.entries, !entries.isEmpty else { return false }
        change(roomID) { $0 = [] }
        for entry in entries { removeFile(of: entry, in: roomID) }
        return true
    }

    /// Writes nothing any more. The stored messages stay on disk, for another outbox.
    func stop() { isStopped = true }

    /// Removes the messages of all rooms from this device.
    ///
    /// - Throws: the file system's error.
    func removeAll() throws {
        for roomID in rooms.keys { change(roomID) { $0 = [] } }
        try files.files.removeAll()
    }

    private func removeFile(of entry: OutboxEntry, in roomID: String) {
        guard entry.isKept, !isStopped else { return }
        // `try?`: if the file stays, its message is sent after a restart. The server does not store it twice, and
        // refuses it if the room is gone.
        try? files.remove(entry, of: roomID)
    }

    /// Writes a message in its present state. If it is not on disk and cannot be written, it is set to failed, because
    /// it would be lost with the app.
    ///
    /// - Returns: its state afterwards.
    private func keep(_ tempID: String, in roomID: String) -> PendingMessage.State {
        guard var entry = entry(tempID, in: roomID) else { return .queued }
        do {
            if let readFailure { throw readFailure }
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
        update(tempID, in: roomID) { $0 = entry }
        return entry.message.state
    }

    private func update(_ tempID: String, in roomID: String, _ body: (inout OutboxEntry) -> Void) {
        change(roomID) { entries in
            if let index = entries.firstIndex(where: { $0.message.tempID == tempID }) { body(&entries[index]) }
        }
    }

    private func change(_ roomID: String, _ body: (inout [OutboxEntry]) -> Void) {
        body(&rooms[roomID, default: Room()].entries)
        rooms[roomID]?.version += 1
        let hasFailed = rooms[roomID]?.entries.contains { $0.message.state.isFailed } ?? false
        if failedRooms.set(hasFailed, for: roomID) { onFailedRooms(failedRooms) }
    }
}

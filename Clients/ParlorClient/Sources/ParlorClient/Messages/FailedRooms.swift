/// The rooms with a failed message.
struct FailedRooms: Equatable, Sendable {
    var ids: Set<String> = []
    /// Rises with every change. Of two values, the one with the higher number is the newer one.
    var version = 0
}

extension Outbox {
    /// Updates whether a room has a failed message. Call it after each change that may add or remove one.
    func noteFailedRoom(_ roomID: String) {
        let hasFailed = queues[roomID]?.entries.contains { $0.message.state.isFailed } ?? false
        guard hasFailed != failedRooms.ids.contains(roomID) else { return }
        if hasFailed { failedRooms.ids.insert(roomID) } else { failedRooms.ids.remove(roomID) }
        failedRooms.version += 1
        guard let onFailedRooms else { return }
        // Not awaited, so that a busy main actor delays no message. Older values that arrive later are ignored.
        Task { [failedRooms] in await onFailedRooms(failedRooms) }
    }
}

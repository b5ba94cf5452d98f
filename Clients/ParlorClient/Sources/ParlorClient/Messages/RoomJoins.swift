/// Sends the joins and leaves of each room one after another, in the order of the calls.
///
/// Otherwise the leave of one visit could reach the server after the join of the next one, and the room on the
/// screen would receive no events.
@MainActor
final class RoomJoins {
    private let server: any MessageServer
    /// The last join or leave of each room, until it has ended.
    private var last: [String: Task<Void, any Error>] = [:]

    nonisolated init(server: any MessageServer) { self.server = server }

    /// Joins a room, after its earlier joins and leaves.
    ///
    /// - Throws: as `MessageServer.join(_:keepingUnseen:)`.
    func join(_ roomID: String, keepingUnseen: Bool) async throws {
        let join = enqueue(roomID) { try await $0.join(roomID, keepingUnseen: keepingUnseen) }
        try await withTaskCancellationHandler {
            try await join.value
        } onCancel: {
            join.cancel()
        }
    }

    /// Leaves a room, after its earlier joins and leaves.
    ///
    /// - Returns: a task that ends when the leave has succeeded or failed.
    func leave(_ roomID: String) -> Task<Void, Never> {
        let leave = enqueue(roomID) { await $0.leave(roomID) }
        return Task { _ = await leave.result }
    }

    private func enqueue(
        _ roomID: String, _ call: @escaping @Sendable (any MessageServer) async throws -> Void
    ) -> Task<Void, any Error> {
        let task = Task { [server, before = last[roomID]] in
            _ = await before?.result
            // If a join was cancelled meanwhile, the room was left, or a newer refresh joins it again.
            try Task.checkCancellation()
            try await call(server)
        }
        last[roomID] = task
        Task {
            _ = await task.result
            if last[roomID] == task { last[roomID] = nil }
        }
        return task
    }
}

import Contracts
import JSON
import ServiceKit

extension Elements {
    /// `{roomId}` → `{deletedCount}`. Any participant may. An empty room stays as it is, and nobody is told.
    func clear(_ request: RoomRequest) async throws -> Reply {
        let clearer = request.caller.userID

        return try await database.change(for: request) { board in
            let deletions = try board.deleteAll()
            let count = deletions.count
            let answer = JSONWriter.object { $0.member("deletedCount", count) }
            guard count > 0 else { return Reply(.ok, answer) }
            let state = try board.advance(by: deletions, at: clock.now())
            let emissions = ElementEvents.cleared(board.room.roomID, by: clearer, state)
            return Reply(.ok, answer, position: Self.position(try board.emit(emissions, at: state)))
        }
    }
}

import Contracts
import ServiceKit

extension Elements {
    /// `{roomId, elementId}`. Any participant may. It lowers nobody's unseen count.
    func delete(_ request: RoomRequest) async throws -> Reply {
        let elementID = try request.fields.id("elementId", orThrow: .elementNotFound)
        let deleter = request.caller.userID

        return try await database.change(for: request) { board in
            guard let deletion = try board.delete(elementID) else { throw ServiceError.elementNotFound }
            let state = try board.advance(by: [deletion], at: clock.now())
            let emissions = ElementEvents.deleted(elementID, in: board.room.roomID, by: deleter, state)
            return Reply(.noContent, position: Self.position(try board.emit(emissions, at: state)))
        }
    }
}

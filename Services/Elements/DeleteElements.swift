import ParlorContracts
import ParlorJSON
import ParlorServiceKit

extension RequestDescription {
    static let deleteElement = RequestDescription(
        "Deletes an element.", takes: Elements.element, errors: [.elementNotFound])
    static let clearRoom = RequestDescription(
        "Deletes all elements of a room.", gives: .object(["deletedCount": .integer(from: 0)]))
}

extension Elements {
    fileprivate static let element = Fields(.id("elementId", orThrow: .elementNotFound))

    /// Deletes an element. Any participant may do it. It lowers no unseen count.
    func delete(_ request: RoomRequest) async throws -> Reply {
        let elementID = try Self.element.read(request.fields)
        let deleter = request.caller.userID

        return try await change(for: request) { board in
            guard let deletion = try board.delete(elementID) else {
                throw ServiceError.elementNotFound
            }
            let state = try board.advance(by: [deletion])
            let emissions = ElementEvents.deleted(elementID, in: board.room.roomID, by: deleter, state)
            let entry = try board.emit(emissions, fact: .elementDeleted(id: elementID))
            return Reply(.noContent, position: entry)
        }
    }

    /// Deletes all elements. Any participant may do it. An empty board stays
    /// unchanged, and no event is emitted.
    func clear(_ request: RoomRequest) async throws -> Reply {
        let clearer = request.caller.userID

        return try await change(for: request) { board in
            let deletions = try board.deleteAll()
            let count = deletions.count
            let answer = JSONWriter.object { $0.member("deletedCount", count) }
            guard count > 0 else { return Reply(.ok, answer) }
            let state = try board.advance(by: deletions)
            let emissions = ElementEvents.cleared(board.room.roomID, by: clearer, state)
            return Reply(.ok, answer, position: try board.emit(emissions, fact: .boardCleared))
        }
    }
}

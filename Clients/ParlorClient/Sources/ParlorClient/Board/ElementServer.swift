/// The requests that boards send.
///
/// Every call throws `ClientFailure` or `CancellationError`.
package protocol ElementServer: Sendable {
    /// Returns a page of a room's elements.
    func elements(in roomID: String, limit: Int?, cursor: String?) async throws -> Page<Element>
    /// Creates an element.
    ///
    /// - Parameter tempID: an idempotency key: the server answers a repeated one with the first element.
    func makeElement(
        type: String, content: JSON?, position: Element.Position?, tempID: String?, in roomID: String
    ) async throws -> Element
    /// Changes an element's content, its position, or both.
    ///
    /// - Parameters:
    ///   - content: nil to keep the content.
    ///   - version: the version that the change is based on. If it is outdated, the server refuses with
    ///     `version_conflict`. If it is nil, the change is made in any case.
    func update(
        _ elementID: String, content: JSON?, position: PositionChange, version: Int?, in roomID: String
    ) async throws -> Element
    /// Deletes an element.
    func deleteElement(_ id: String, in roomID: String) async throws
    /// Deletes all elements of a room, and returns their number.
    @discardableResult
    func clear(_ roomID: String) async throws -> Int
}

extension RoomsAPI: ElementServer {}

extension ElementServer {
    /// Sends a change of a board, and returns the element after it; nil if it was deleted.
    func perform(_ operation: BoardOperation, in roomID: String) async throws -> Element? {
        let id = operation.elementID
        switch operation.change {
        case .create(let type, let content, let position, _):
            return try await makeElement(
                type: type, content: content, position: position, tempID: id, in: roomID)
        case .edit(let content, let version):
            return try await update(id, content: content, position: .keep, version: version, in: roomID)
        case .move(let position):
            return try await update(
                id, content: nil, position: position.map(PositionChange.move) ?? .remove, version: nil, in: roomID)
        case .delete:
            try await deleteElement(id, in: roomID)
            return nil
        }
    }
}

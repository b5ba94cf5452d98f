/// The requests of boards.
///
/// Every call throws `ClientFailure` or `CancellationError`.
public protocol ElementServer: Sendable {
    func elements(in roomID: String, limit: Int?, cursor: String?) async throws -> Page<Element>
    /// - Parameter tempID: a repeated one returns the first element and stores nothing.
    func makeElement(
        type: String, content: JSON?, position: Element.Position?, tempID: String?, in roomID: String
    ) async throws -> Element
    /// - Parameter version: if it is outdated, the server refuses with `version_conflict`.
    func update(
        _ elementID: String, content: JSON?, position: PositionChange, version: Int?, in roomID: String
    ) async throws -> Element
    func deleteElement(_ id: String, in roomID: String) async throws
    @discardableResult
    func clear(_ roomID: String) async throws -> Int
}

extension RoomsAPI: ElementServer {}

extension ElementServer {
    /// - Returns: the element after the operation; nil if it was deleted.
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

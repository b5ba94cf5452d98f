/// The server's calls that boards need.
///
/// Every call throws `ClientFailure` or `CancellationError`.
public protocol ElementServer: Sendable {
    func elements(in roomID: String, limit: Int?, cursor: String?) async throws -> Page<Element>
    /// - Parameter tempID: the same one again stores nothing new, and returns the first.
    func makeElement(
        type: String, content: JSON?, position: Element.Position?, tempID: String?, in roomID: String
    ) async throws -> Element
    /// - Parameter version: another one now is refused with `version_conflict`.
    func update(
        _ elementID: String, content: JSON?, position: PositionChange, version: Int?, in roomID: String
    ) async throws -> Element
    func deleteElement(_ id: String, in roomID: String) async throws
    @discardableResult
    func clear(_ roomID: String) async throws -> Int
}

extension RoomsAPI: ElementServer {}

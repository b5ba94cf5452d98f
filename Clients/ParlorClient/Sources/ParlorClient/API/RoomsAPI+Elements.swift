import Foundation

extension RoomsAPI {
    /// Returns a page of a room's elements, oldest first.
    ///
    /// - Parameter cursor: the ``Page/next`` of the previous page; nil for the first.
    package func elements(in roomID: String, limit: Int? = nil, cursor: String? = nil) async throws -> Page<Element> {
        try await page(
            of: try HTTPRequest(
                "GET", to: ["rooms", roomID, "elements"],
                query: [("limit", limit.map { String($0) }), ("cursor", cursor)]))
    }

    /// Creates an element.
    ///
    /// - Parameters:
    ///   - content: a JSON object of at most 64 KiB; empty by default.
    ///   - tempID: 1 to 64 characters. A repeat with the same id stores nothing, and returns the first element.
    package func makeElement(
        type: String, content: JSON? = nil, position: Element.Position? = nil, tempID: String? = nil, in roomID: String
    ) async throws -> Element {
        try await value(
            of: try HTTPRequest(
                "POST", to: ["rooms", roomID, "elements"],
                body: .members([
                    "type": .string(type), "content": content, "position": position?.json,
                    "tempId": tempID.map(JSON.string),
                ])))
    }

    /// Updates an element. Fields that are not given stay as they are. Any participant may do so.
    ///
    /// - Parameter version: the version that the change is based on. If it is outdated, the server
    ///   refuses with `version_conflict`. If it is nil, the change is made in any case.
    package func update(
        _ elementID: String, content: JSON? = nil, position: PositionChange = .keep, version: Int? = nil,
        in roomID: String
    ) async throws -> Element {
        try await value(
            of: try HTTPRequest(
                "PATCH", to: ["rooms", roomID, "elements", elementID],
                body: .members([
                    "content": content, "position": position.json, "version": version.map(JSON.integer),
                ])))
    }

    /// Deletes an element. Any participant may do so.
    package func deleteElement(_ id: String, in roomID: String) async throws {
        try await perform(try HTTPRequest("DELETE", to: ["rooms", roomID, "elements", id]))
    }

    /// Deletes all elements of a room.
    ///
    /// - Returns: the number of deleted elements.
    @discardableResult
    package func clear(_ roomID: String) async throws -> Int {
        let cleared: DeletedCount = try await value(
            of: try HTTPRequest("DELETE", to: ["rooms", roomID, "elements"]))
        return cleared.deletedCount
    }
}

/// A change of an element's position.
package enum PositionChange: Equatable, Sendable {
    case keep
    case move(Element.Position)
    case remove

    var json: JSON? {
        switch self {
        case .keep: nil
        case .move(let position): position.json
        case .remove: .null
        }
    }
}

extension Element.Position {
    var json: JSON { ["x": .number(x), "y": .number(y)] }
}

struct DeletedCount: Decodable {
    let deletedCount: Int
}

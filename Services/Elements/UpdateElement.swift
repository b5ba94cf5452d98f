import ParlorContracts
import ParlorJSON
import ParlorServiceKit

extension RequestDescription {
    static let updateElement = RequestDescription(
        "Replaces an element's content, its position, or both.",
        takes: .object(
            ["elementId": .id],
            optional: [
                "content": ElementContent.schema,
                "position": ElementPosition.schema.orNull.noted("Null clears it."),
                "version": Schema.integer.noted("Refused if it is not the current one."),
            ]), gives: Element.schema,
        errors: [.elementNotFound, .versionConflict, .payloadTooLarge, .invalidField])
}

extension Elements {
    /// Updates an element: `{roomId, elementId, content?, position?, version?}` → the element. Given fields
    /// replace the old ones; `position: null` clears it. Any participant may do it.
    func update(_ request: RoomRequest) async throws -> Reply {
        let fields = request.fields
        let elementID = try fields.id("elementId", orThrow: .elementNotFound)
        let content = try fields["content"].map { try ElementContent($0) }
        let isMoved = fields.isGiven("position")
        let position = try fields["position"].map { try ElementPosition($0) }
        let expectedVersion = try fields.optionalInt("version")
        guard content != nil || isMoved else {
            throw ServiceError(.invalidField, "`content` or `position` has to be given.")
        }
        let updater = request.caller.userID

        return try await change(for: request, holding: content?.json.bytes.count ?? 0) { board in
            guard var element = try board.element(elementID) else {
                throw ServiceError.elementNotFound
            }
            if let expectedVersion, expectedVersion != element.version {
                throw ServiceError(
                    .versionConflict, "The element has changed since: it has version \(element.version) now.")
            }
            let charges = content.map { element.replaceContent(with: $0, by: updater) } ?? []
            let state = try board.advance(by: charges)
            if isMoved { element.position = position }
            element.updatedBy = updater
            element.updatedAt = state.changedAt
            element.version += 1
            try board.replace(element)
            let json = element.json
            let emissions = ElementEvents.updated(element, json, state)
            return Reply(.ok, json, position: try board.emit(emissions, fact: .elementUpdated(id: elementID)))
        }
    }
}

import ParlorContracts
import ParlorJSON
import ParlorServiceKit

extension RequestDescription {
    static let updateElement = RequestDescription(
        "Replaces an element's content, its position, or both.",
        takes: Elements.changes, gives: Element.schema,
        errors: [.elementNotFound, .versionConflict, .payloadTooLarge, .invalidField])
}

extension Elements {
    fileprivate static let changes = Fields(
        .id("elementId", orThrow: .elementNotFound), .optional(ElementContent.field),
        .clearable(ElementPosition.field),
        .optional(.integer("version", note: "Refused if it is not the current one.")))

    /// Updates an element. Given fields replace the old ones. Any participant may do it.
    func update(_ request: RoomRequest) async throws -> Reply {
        let (elementID, content, position, expectedVersion) = try Self.changes.read(request.fields)
        guard content != nil || position != nil else {
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
            if let position { element.position = position }
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

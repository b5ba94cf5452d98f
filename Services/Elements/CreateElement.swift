import ParlorContracts
import ParlorServiceKit

extension RequestDescription {
    static let createElement = RequestDescription(
        "Puts an element on a room's board.",
        takes: Elements.newElement, gives: Element.schema, statuses: [.created, .ok],
        errors: [.elementNotFound, .payloadTooLarge, .invalidField])
}

extension Elements {
    fileprivate static let newElement = Fields(
        .string("type", ElementType.schema, ElementType.init(_:)),
        .optional(ElementContent.field, or: .empty),
        .optional(.json("position", ElementPosition.schema.orNull, ElementPosition.init(_:))),
        .optional(.key("tempId", note: "The sender's idempotency key in the room, kept for ever.")))

    /// Creates an element. If its sender used the `tempId` in this room before, returns the element created then.
    func create(_ request: RoomRequest) async throws -> Reply {
        let (type, content, position, tempID) = try Self.newElement.read(request.fields)
        let sender = request.caller.userID

        return try await change(for: request, holding: content.json.bytes.count) { board in
            if let tempID, let earlier = try board.elementID(sentBy: sender, as: tempID) {
                // The key stays after the element is deleted: a late retry must not restore it.
                guard let element = try board.element(earlier) else {
                    throw ServiceError.elementNotFound
                }
                // The first answer may have been lost before the element's event was sent. The gateway delays this
                // answer until it has delivered up to the log's last position, which includes that event.
                return Reply(.ok, element.json, position: try board.lastEntry(), isDuplicate: true)
            }
            let size = Element.size(with: content)
            let state = try board.advance(by: [Charge(userID: sender, elements: 1, bytes: size)])
            let element = Element(
                id: ids.next(at: state.changedAt.milliseconds), roomID: board.room.roomID, type: type, content: content,
                position: position, createdBy: sender, createdAt: state.changedAt, updatedBy: sender,
                updatedAt: state.changedAt, version: 1, tempID: tempID, size: size,
                chargedTo: sender)
            try board.insert(element, at: state)
            let json = element.json
            let entry = try board.emit(
                ElementEvents.created(element, json, state), fact: .elementCreated(id: element.id))
            return Reply(.created, json, position: entry)
        }
    }
}

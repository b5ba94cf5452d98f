import ParlorContracts
import ParlorJSON

extension EventDescription {
    /// The contract's events of elements. `room:badges` is composed, and described, by gateways.
    static let ofElements = [
        EventDescription("element:created", to: .room, "An element was created.", .object(["element": Element.schema])),
        EventDescription("element:updated", to: .room, "An element was changed.", .object(["element": Element.schema])),
        EventDescription(
            "element:deleted", to: .room, "An element was deleted.",
            .object(["roomId": .id, "elementId": .id, "deletedBy": .id])),
        EventDescription(
            "room:cleared", to: .room, "All elements were deleted.", .object(["roomId": .id, "clearedBy": .id])),
        global(
            "element:created:global", "An element was created.",
            ["elementId": .id, "createdBy": .id, "type": ElementType.schema]),
        global("element:updated:global", "An element was changed.", ["elementId": .id, "updatedBy": .id]),
        global("element:deleted:global", "An element was deleted.", ["elementId": .id, "deletedBy": .id]),
        global("room:cleared:global", "All elements of a room were deleted.", ["clearedBy": .id]),
    ]

    private static func global(
        _ event: String, _ summary: String, _ change: KeyValuePairs<String, Schema>
    ) -> EventDescription {
        let board: KeyValuePairs<String, Schema> = [
            "roomId": .id, "updatedAt": .time, "elementCount": .integer(from: 0),
            "rev": Schema.integer.noted("Rises by one with each change of the board."),
        ]
        return EventDescription(
            event, to: .everyone, summary,
            .object((Array(change) + Array(board)).map { Schema.Member($0.key, $0.value) }))
    }
}

/// The events of a change: first to the room, then to everyone. Those to everyone contain no content,
/// position or name.
enum ElementEvents {
    static func created(_ element: Element, _ json: JSONValue, _ state: BoardState) -> [Emission] {
        [
            Emission(to: .room, "element:created", JSONWriter.object { $0.member("element", json) }),
            everyone("element:created:global", element.roomID, state) {
                $0.member("elementId", element.id)
                $0.member("createdBy", element.createdBy)
                $0.member("type", element.type.text)
            },
        ]
    }

    static func updated(_ element: Element, _ json: JSONValue, _ state: BoardState) -> [Emission] {
        [
            Emission(to: .room, "element:updated", JSONWriter.object { $0.member("element", json) }),
            everyone("element:updated:global", element.roomID, state) {
                $0.member("elementId", element.id)
                $0.member("updatedBy", element.updatedBy)
            },
        ]
    }

    static func deleted(_ elementID: String, in roomID: String, by userID: String, _ state: BoardState) -> [Emission] {
        let payload = JSONWriter.object {
            $0.member("roomId", roomID)
            $0.member("elementId", elementID)
            $0.member("deletedBy", userID)
        }
        return [
            Emission(to: .room, "element:deleted", payload),
            everyone("element:deleted:global", roomID, state) {
                $0.member("elementId", elementID)
                $0.member("deletedBy", userID)
            },
        ]
    }

    static func cleared(_ roomID: String, by userID: String, _ state: BoardState) -> [Emission] {
        let payload = JSONWriter.object {
            $0.member("roomId", roomID)
            $0.member("clearedBy", userID)
        }
        return [
            Emission(to: .room, "room:cleared", payload),
            everyone("room:cleared:global", roomID, state) { $0.member("clearedBy", userID) },
        ]
    }

    /// Returns the events for a person whose unseen elements have been seen.
    static func seen(_ roomID: String, by userID: String) -> [Emission] {
        let badges = JSONWriter.object {
            $0.member("roomId", roomID)
            $0.member("badges", object: { $0.member("elements", 0) })
        }
        return [Emission(to: .person(userID), "room:badges", badges, composition: .badges)]
    }

    private static func everyone(
        _ event: String, _ roomID: String, _ state: BoardState, _ writeChange: (inout JSONWriter) -> Void
    ) -> Emission {
        let data = JSONWriter.object {
            $0.member("roomId", roomID)
            writeChange(&$0)
            $0.member("updatedAt", state.changedAt.isoSeconds)
            $0.member("elementCount", state.elementCount)
            $0.member("rev", state.rev)
        }
        return Emission(to: .everyone, event, data)
    }
}

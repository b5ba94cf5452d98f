import Contracts
import JSON

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

import Contracts
import JSON

/// A thing on a room's board.
struct Element: Sendable, Equatable {
    let id: String
    let roomID: String
    let type: ElementType
    var content: ElementContent
    var position: ElementPosition?
    let createdBy: String
    let createdAt: Timestamp
    var updatedBy: String
    var updatedAt: Timestamp
    /// From 1, one more with each update.
    var version: Int
    let tempID: String?
    /// As its board counts it: about the bytes of its JSON.
    var size: Int
    /// On whose account it is: see `Charge`.
    var chargedTo: String

    /// All but the content: ids, names and numbers.
    static let overhead = 512

    static func size(with content: ElementContent) -> Int { content.json.bytes.count + overhead }

    /// Gives it another content.
    ///
    /// - Returns: what that changes on people's accounts.
    mutating func replaceContent(with content: ElementContent, by updaterID: String) -> [Charge] {
        let (before, ownerBefore) = (size, chargedTo)
        self.content = content
        size = Self.size(with: content)
        guard size > before, updaterID != ownerBefore else {
            return [Charge(userID: ownerBefore, elements: 0, bytes: size - before)]
        }
        chargedTo = updaterID
        return [
            Charge(userID: ownerBefore, elements: -1, bytes: -before),
            Charge(userID: updaterID, elements: 1, bytes: size),
        ]
    }

    /// As the public contract shows it.
    var json: JSONValue {
        JSONWriter.object(reservingCapacity: size) {
            $0.member("id", id)
            $0.member("roomId", roomID)
            $0.member("type", type.text)
            $0.member("content", content.json)
            $0.member("position", position?.json)
            $0.member("createdBy", createdBy)
            $0.member("createdAt", createdAt.iso)
            $0.member("updatedBy", updatedBy)
            $0.member("updatedAt", updatedAt.iso)
            $0.member("version", version)
            $0.member("tempId", tempID)
        }
    }
}

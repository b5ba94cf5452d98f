import Contracts
import ServiceKit

/// A room's name: 1 to 100 characters, trimmed, without control characters. A room that has none has nil.
struct RoomName: Sendable, Equatable {
    let text: String

    /// A line on a phone; what is longer is a message.
    static let maxLength = 100

    /// The field `name`, which has to be there; empty, it clears the name, and so is nil.
    static func required(in fields: RequestFields) throws(ServiceError) -> RoomName? {
        guard let name = try fields.optionalText("name", length: 0...maxLength, trimmed: true) else {
            throw .missing("name")
        }
        return RoomName(stored: name)
    }

    /// The field `name`, which may be missing.
    static func optional(in fields: RequestFields) throws(ServiceError) -> RoomName? {
        fields["name"] == nil ? nil : try required(in: fields)
    }

    /// What was a name before; nil for the empty text.
    init?(stored text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
    }

    /// By code points, as it is stored: to Swift's own `==` a composed é and a decomposed one are the same text, and a
    /// change from one to the other would be lost.
    static func == (a: RoomName, b: RoomName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }
}

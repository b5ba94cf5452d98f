import ParlorContracts
import ParlorJSON
import ParlorServiceKit

/// An object on a room's board.
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
    /// The version, which starts at 1 and rises by one with each update.
    var version: Int
    let tempID: String?
    /// The size that counts towards the limits of the board and of people: about the bytes of its JSON.
    var size: Int
    /// The person whose account it is counted on: see `Charge`.
    var chargedTo: String

    /// The size of everything but the content: ids, names and numbers.
    static let overhead = 512

    static func size(with content: ElementContent) -> Int { content.json.bytes.count + overhead }

    /// Replaces the content.
    ///
    /// - Returns: the changes of people's accounts.
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

    static let schema = Schema.named(
        "Element",
        .object([
            "id": .id, "roomId": .id, "type": ElementType.schema, "content": ElementContent.schema,
            "position": ElementPosition.schema.orNull, "createdBy": .id, "createdAt": .time, "updatedBy": .id,
            "updatedAt": .time, "version": .integer(from: 1), "tempId": Schema.string.orNull,
        ]))

    /// The element in the form of the public contract.
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

/// An element's kind, chosen by clients: `[a-z][a-z0-9_-]{0,31}`.
struct ElementType: Sendable, Equatable {
    let text: String

    static let maxLength = 32
    static let schema = Schema.string(1...maxLength).noted("A letter a-z, then a-z, 0-9, `_` and `-`.")

    init(_ text: String) throws(ServiceError) {
        guard text.utf8.count <= Self.maxLength, let first = text.utf8.first, Self.isLetter(first),
            text.utf8.allSatisfy(Self.isAllowed)
        else {
            throw .invalid(
                "type", "has to start with a letter a-z, followed by up to 31 of a-z, 0-9, `_` and `-`")
        }
        self.text = text
    }

    init(stored text: String) { self.text = text }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: isLetter(byte)
        }
    }
}

/// An element's position: `{x, y}`, with each number as it was written.
struct ElementPosition: Sendable, Equatable {
    let json: JSONValue

    static let schema = Schema.named("Position", .object(["x": .number, "y": .number]))

    static let field = Field.json("position", schema) { json throws(ServiceError) in try ElementPosition(json) }

    init(_ given: JSONValue) throws(ServiceError) {
        guard let object = given.object else { throw .wrongType("position", "an object with x and y") }
        let x = try Self.coordinate("x", of: object)
        let y = try Self.coordinate("y", of: object)
        json = JSONWriter.object(reservingCapacity: 64) {
            $0.member("x", x)
            $0.member("y", y)
        }
    }

    init(stored json: JSONValue) { self.json = json }

    private static func coordinate(_ name: String, of object: JSONObject) throws(ServiceError) -> JSONValue {
        let field = "position.\(name)"
        guard let value = object[name], !value.isNull else { throw .missing(field) }
        guard value.kind == .number else { throw .wrongType(field, "a number") }
        // Services on the bus may send numbers that the edge refuses.
        guard value.bytes.count <= JSONValue.maxNumberLength else {
            throw .invalid(field, "has to be written in at most \(JSONValue.maxNumberLength) characters")
        }
        guard value.double != nil else { throw .invalid(field, "is too large a number") }
        return value
    }
}

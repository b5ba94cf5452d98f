import Contracts
import JSON

/// Where an element stands: `{x, y}`, each number as it was written.
struct ElementPosition: Sendable, Equatable {
    let json: JSONValue

    /// No client writes a double in more than 25 characters; a number of a million digits would be kept as it is.
    static let maxNumberBytes = 64

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
        guard value.bytes.count <= maxNumberBytes else {
            throw .invalid(field, "has to be written in at most \(maxNumberBytes) characters")
        }
        guard value.double != nil else { throw .invalid(field, "is too large a number") }
        return value
    }
}

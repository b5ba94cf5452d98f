import Foundation

/// Any JSON value, such as the content of an element, whose format is the app's own.
public enum JSON: Codable, Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    /// A number that is not whole, or does not fit an `Int`. Digits beyond those of a `Double` are lost. To keep them,
    /// call ``RoomsAPI/call(_:_:query:body:as:)`` with a type of the app.
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// The member of an object; nil if there is none, or if this is not an object.
    public subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The text of a string; nil for any other value.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {  // `try?`: each type is tried in turn
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

import Foundation

extension JSON {
    /// The Boolean; nil for any other value.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The number of an ``JSON/integer(_:)``; nil for any other value. A decoded number that is whole and fits an
    /// `Int` is one. A ``JSON/number(_:)`` that the app made is not, even if it is whole.
    public var integer: Int? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// The number, whole or not, as a `Double`; nil for any other value.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The elements of an array; nil for any other value.
    public var array: [JSON]? {
        guard case .array(let values) = self else { return nil }
        return values
    }

    /// The members of an object; nil for any other value.
    public var object: [String: JSON]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// Decodes this value as a type of the app.
    ///
    /// A `Date` is decoded from a time as the server writes it (ISO 8601). Each call decodes again, so keep the result
    /// if a view reads it often.
    ///
    /// - Throws: `ClientFailure.unreadable`, which names the member that is missing or has another type.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws(ClientFailure) -> Value {
        try ServerDecoder().decode(type, from: try encoded())
    }

    /// Encodes a value of the app. A `Date` becomes a time as the server writes it, rounded to milliseconds.
    ///
    /// - Throws: `ClientFailure.unreadable` if the value cannot be encoded, such as a date with a year far beyond 9999.
    public init(encoding value: any Encodable) throws(ClientFailure) {
        if let json = value as? JSON {
            self = json
        } else {
            self = try ServerDecoder().decode(JSON.self, from: try Self.data(encoding: value))
        }
    }

    /// Encodes a value as the server's JSON.
    static func data(encoding value: any Encodable) throws(ClientFailure) -> Data {
        let encoder = JSONEncoder()
        // Sorted keys give the same bytes each time, which logs and tests need.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            // An `Int` could overflow without this limit, which lies far beyond the year 9999.
            let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
            guard abs(milliseconds) < 1e15 else {
                throw EncodingError.invalidValue(
                    date, .init(codingPath: encoder.codingPath, debugDescription: "the server has no such time"))
            }
            try container.encode(WireTime.milliseconds(Int(milliseconds)))
        }
        do {
            return try encoder.encode(value)
        } catch {
            throw .unreadable("this cannot be sent: \(error)")
        }
    }
}

import Foundation

extension JSON {
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The number, if it is whole and fits an `Int`. A ``JSON/number(_:)`` that the app made has none.
    public var integer: Int? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// The number, whole or not.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    public var array: [JSON]? {
        guard case .array(let values) = self else { return nil }
        return values
    }

    public var object: [String: JSON]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// Decodes a type of the app from this value.
    ///
    /// A `Date` is decoded from a time as the server writes it (ISO 8601). Each call decodes anew, so keep the
    /// result where a view reads it often.
    ///
    /// - Throws: `ClientFailure.unreadable`, which names the member that is missing or of another type.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws(ClientFailure) -> Value {
        try ServerDecoder().decode(type, from: try encoded())
    }

    /// Encodes a value of the app. A `Date` becomes a time as the server writes it, in milliseconds.
    ///
    /// - Throws: `ClientFailure.unreadable` if the value cannot be encoded.
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
        // Sorted keys give the same bytes each time, for logs and tests.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            // Beyond the bound, which is beyond the year 9999, an `Int` could overflow.
            let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
            guard abs(milliseconds) < 1e15 else {
                throw EncodingError.invalidValue(
                    date, .init(codingPath: encoder.codingPath, debugDescription: "no time of the server"))
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

import Foundation

/// Decodes the server's JSON, with its times as `Date`s.
package struct ServerDecoder: Sendable {
    private let decoder: JSONDecoder

    package init() {
        decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            guard let date = ServerDate.parse(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text) is not a time")
            }
            return date
        }
    }

    /// Decodes a value.
    ///
    /// - Throws: `ClientFailure.unreadable`, which names the member that is missing or has another type.
    package func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws(ClientFailure) -> Value {
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw .unreadable(Self.describe(error, type))
        }
    }

    func decode<Value: DecodableWithConfiguration>(
        _ type: Value.Type, from data: Data, configuration: Value.DecodingConfiguration
    ) throws(ClientFailure) -> Value {
        do {
            return try decoder.decode(type, from: data, configuration: configuration)
        } catch {
            throw .unreadable(Self.describe(error, type))
        }
    }

    private static func describe(_ error: any Error, _ type: Any.Type) -> String {
        let context: DecodingError.Context? =
            switch error {
            case DecodingError.keyNotFound(_, let context), DecodingError.valueNotFound(_, let context),
                DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context):
                context
            default: nil
            }
        guard let context else { return "not a valid \(type): \(error)" }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return "not a valid \(type): \(path.isEmpty ? "" : "\(path): ")\(context.debugDescription)"
    }
}

extension Int {
    /// The value as a count or a sequence number: from 0 to 2^53, so that sums cannot overflow.
    var asCount: Int { Swift.min(Swift.max(self, 0), 1 << 53) }
}

extension KeyedDecodingContainer {
    /// Decodes a count or a sequence number; 0 if it is missing.
    func decodeCount(_ key: Key) throws -> Int { try decodeIfPresent(Int.self, forKey: key)?.asCount ?? 0 }

    /// Decodes a member, or returns the default if it is missing or null.
    func decode<Value: Decodable>(_ key: Key, or standard: @autoclosure () throws -> Value) throws -> Value {
        try decodeIfPresent(Value.self, forKey: key) ?? standard()
    }
}

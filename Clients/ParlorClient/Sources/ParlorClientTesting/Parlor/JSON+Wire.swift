import Foundation
import ParlorClient

extension JSON {
    static func optional(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }

    /// Parses JSON; nil if it is malformed.
    init?(parsing data: Data) {
        guard let value = try? JSONDecoder().decode(JSON.self, from: data) else { return nil }
        self = value
    }

    /// The encoded value. Members are sorted by name, so that equal values have equal bytes.
    var data: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // `try?`: only NaN and infinities cannot be encoded, and no client can send one.
        return (try? encoder.encode(self)) ?? Data("null".utf8)
    }

    var text: String { String(decoding: data, as: UTF8.self) }

    /// Returns a member; nil if it is missing or null.
    func member(_ name: String) -> JSON? {
        guard let value = self[name], value != .null else { return nil }
        return value
    }

    func adding(_ members: [String: JSON]) -> JSON {
        guard case .object(let own) = self else { return self }
        return .object(own.merging(members) { $1 })
    }
}

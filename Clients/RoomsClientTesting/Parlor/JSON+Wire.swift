import Foundation
import RoomsClient

extension JSON {
    static func optional(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }

    /// nil if it is none.
    init?(parsing data: Data) {
        // What is not JSON is answered as such: why it is not does not matter.
        guard let value = try? JSONDecoder().decode(JSON.self, from: data) else { return nil }
        self = value
    }

    /// With its members in the order of their names: the same value is always the same text.
    var data: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Only numbers that are none can't be encoded, and nobody can send one.
        return (try? encoder.encode(self)) ?? Data("null".utf8)
    }

    var text: String { String(decoding: data, as: UTF8.self) }

    var integer: Int? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    var array: [JSON]? {
        guard case .array(let values) = self else { return nil }
        return values
    }

    var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// A member that is there and not null.
    func member(_ name: String) -> JSON? {
        guard let value = self[name], value != .null else { return nil }
        return value
    }

    func adding(_ members: [String: JSON]) -> JSON {
        guard case .object(let own) = self else { return self }
        return .object(own.merging(members) { $1 })
    }
}

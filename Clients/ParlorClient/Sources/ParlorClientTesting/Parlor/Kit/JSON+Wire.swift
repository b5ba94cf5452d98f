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

extension Person {
    func json(showsEmail: Bool = true) -> JSON {
        let own: JSON = ["id": .string(id), "username": .string(username), "firstName": .optional(firstName)]
        return showsEmail ? own.adding(["email": .optional(email)]) : own
    }
}

// The members of a request.
extension JSON {
    /// Returns a required member. It has to be a string without control characters other than tabs and line breaks.
    func required(_ name: String) throws(Refused) -> String {
        guard let value = member(name) else { throw .invalid(name, "is missing") }
        guard let text = value.string else { throw .malformed("\(name) is not a string.") }
        // C0, DEL and C1, as on the server.
        let isForbidden = { (scalar: Unicode.Scalar) in
            scalar.properties.generalCategory == .control && !"\n\t\r".unicodeScalars.contains(scalar)
        }
        guard !text.unicodeScalars.contains(where: isForbidden) else {
            throw .invalid(name, "has control characters")
        }
        return text
    }

    /// Returns the `tempId` of a person; nil if there is none.
    func tempID(of userID: String) throws(Refused) -> TempID? {
        guard member("tempId") != nil else { return nil }
        let text = try required("tempId")
        guard (1...64).contains(text.unicodeScalars.count) else {
            throw .invalid("tempId", "must have 1 to 64 characters")
        }
        return TempID(userID: userID, text: text)
    }

    func strings(_ name: String, count: ClosedRange<Int>) throws(Refused) -> [String] {
        guard let value = member(name) else { throw .invalid(name, "is missing") }
        guard let texts = value.array?.map(\.string) else { throw .malformed("\(name) is not a list.") }
        guard count.contains(texts.count) else {
            throw .invalid(name, "must have \(count.lowerBound) to \(count.upperBound) ids")
        }
        let known = texts.compactMap(\.self)
        guard known.count == texts.count else { throw .malformed("\(name) has something that is not a string.") }
        return known
    }
}

/// A `tempId` of one person. Another person's equal `tempId` is a different one.
struct TempID: Hashable, Sendable {
    var userID: String
    var text: String
}

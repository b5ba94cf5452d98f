import Foundation
import ParlorClient

/// The client library's JSON, by a name that the module JSON does not have.
typealias Value = JSON

/// What clients see, a line for each answer and event. Ids are numbered in the order of appearance;
/// times, tokens and cursors become names.
final class Transcript {
    private(set) var lines: [String] = []
    private var ids: [String: Int] = [:]

    /// Members whose values are the server's own, such as an error's message for people.
    private static let opaque: Set<String> = ["cursor", "message", "next", "refreshToken", "requestId", "token"]

    func note(_ what: String, _ value: JSON) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        lines.append("\(named(what)) \(String(decoding: try encoder.encode(named(value)), as: UTF8.self))")
    }

    private func named(_ value: JSON, of member: String? = nil) -> JSON {
        switch value {
        case .object(let members):
            .object(
                Dictionary(uniqueKeysWithValues: members.sorted { $0.key < $1.key }.map { ($0, named($1, of: $0)) }))
        case .array(let values): .array(values.map { named($0) })
        case .string where member.map(Self.opaque.contains) == true: .string("<\(member ?? "")>")
        case .string(let text): .string(named(text))
        default: value
        }
    }

    private func named(_ text: String) -> String {
        text.replacing(#/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/#) { match in
            let id = String(match.output)
            let number = ids[id] ?? ids.count + 1
            ids[id] = number
            return "#\(number)"
        }.replacing(#/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#, with: "<milliseconds>")
            .replacing(#/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/#, with: "<seconds>")
    }
}

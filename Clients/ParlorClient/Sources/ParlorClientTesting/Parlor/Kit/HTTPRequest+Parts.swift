import Foundation
import ParlorClient

typealias Query = [String: String]

extension HTTPRequest {
    /// The decoded segments of the path.
    var segments: [String] { path.split(separator: "/").map { $0.removingPercentEncoding ?? String($0) } }

    /// The query, by name.
    var parameters: Query { Query(query.map { ($0.name, $0.value ?? "") }) { $1 } }

    /// The bearer token.
    var token: String? {
        header("authorization").flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
    }

    /// Returns the body's object; an empty one if there is no body.
    func fields() throws(Refused) -> JSON {
        guard let body, !body.isEmpty else { return [:] }
        guard let fields = JSON(parsing: body), case .object = fields else {
            throw .malformed("The body is not a JSON object.")
        }
        return fields
    }

    /// Returns a header's value. The name is in lower case.
    func header(_ name: String) -> String? { headers.first { $0.key.lowercased() == name }?.value }
}

extension Query {
    /// Returns the `limit`, clamped to 1...max; `standard` if there is none.
    func limit(standard: Int, max: Int) throws(Refused) -> Int {
        Swift.min(Swift.max(try integer("limit") ?? standard, 1), max)
    }

    func integer(_ name: String) throws(Refused) -> Int? {
        guard let text = self[name] else { return nil }
        guard let value = Int(text) else { throw .malformed("\(name) is not a number.") }
        return value
    }
}

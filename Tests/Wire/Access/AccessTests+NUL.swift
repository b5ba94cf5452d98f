import ParlorContracts
import ParlorJSON
import Testing

// PostgreSQL accepts no NUL in a text: a service has to refuse or escape it wherever a client may
// send one.
extension AccessTests {
    /// Fields that the rows' bodies do not have, of all routes and events.
    private static let optionalFields = [
        "name", "clientRequestId", "tempId", "email", "firstName", "content", "position", "messageId", "elementId",
    ]
    private static let queryItems = ["cursor", "q", "before", "after", "limit", "sort", "since"]

    func checkNULs(_ harness: AccessHarness) async throws {
        var ids = try await harness.ids(in: harness.room, of: harness.alice, and: harness.bob)
        // A used one would end Alice's session.
        ids.refreshToken = Ids.missing.refreshToken
        for route in harness.manifests.flatMap(\.routes) + AccessMatrix.ownRoutes {
            guard let row = AccessMatrix.routes[AccessMatrix.name(of: route)] else { continue }
            func check(_ target: String, _ body: String = "") async throws {
                let seen = try await harness.calls.http(route.method, target, token: harness.alice.token, body: body)
                #expect(seen.status < 500, "\(route.method) \(target) \(body): \(seen)")
            }
            let path = ids.path(route.path)
            if row.body(ids).isEmpty {
                for name in Self.queryItems { try await check("\(path)?\(name)=%00") }
            } else {
                // Each attempt to sign in costs a hash: unused fields are not tried there.
                let others = path.hasPrefix("/api/auth/") ? [] : Self.optionalFields
                for body in try Self.bodies(row.body(ids), others) { try await check(path, body) }
            }
        }
        for name in harness.manifests.flatMap(\.socketEvents).map(\.event) + AccessMatrix.ownEvents {
            guard let row = AccessMatrix.events[name] else { continue }
            let payloads = try Self.bodies(row.body(ids), Self.optionalFields)
            let acks = try await harness.calls.acks(payloads.map { (name, $0) }, token: harness.alice.token)
            #expect(acks.count == payloads.count)
            for (payload, ack) in zip(payloads, acks) {
                #expect(ack.hasPrefix("437") && !ack.contains("internal_error"), "\(name) \(payload): \(ack)")
            }
        }
    }

    /// Returns the body with a NUL in each of its members, and in each other that it may have.
    private static func bodies(_ body: String, _ others: [String]) throws -> [String] {
        let members = try JSONValue(parsing: body).object?.all ?? []
        return (members.map(\.name) + others).map { name in
            let value =
                switch name {
                case "messageIds": #"["\u0000"]"#
                case "content": #"{"\u0000":"\u0000"}"#
                default: #""\u0000""#
                }
            let rest = members.filter { $0.name != name }.map { "\"\($0.name)\":\($0.value)," }
            return "{\(rest.joined())\"\(name)\":\(value)}"
        }
    }
}

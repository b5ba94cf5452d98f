import Contracts
import JSON
import MessageBus
import Security
import ServiceKit

extension Accounts {
    private static let standardLimit = 50
    private static let maxLimit = 200

    /// `{q?, limit?, cursor?}`, texts as the query has them → a page of people whom the caller shares no room with, by username.
    func peopleWithoutRooms(
        _ fields: RequestFields, _ caller: Caller, _ context: BusContext
    ) async throws -> Reply {
        let prefix = try fields.optionalString("q") ?? ""
        guard !prefix.hasForbiddenControls else { throw ServiceError.invalid("q", "has control characters in it") }
        let limit = try fields.queryLimit(standard: Self.standardLimit, max: Self.maxLimit)
        let cursor = try fields.optionalString("cursor").map(PeopleCursor.init)

        let excluded = try await partners.partners(of: caller.id, context).union([caller.id])
        // One more than is shown tells whether there is a next page.
        let found = try await database.people(
            startingWith: prefix, after: cursor?.usernameKey ?? "", without: Array(excluded), limit: limit + 1)
        let shown = found.prefix(limit)
        let next = found.count > limit ? shown.last.map { PeopleCursor(after: $0).text } : nil
        let people = JSONWriter.value { json in
            json.array(of: shown) { json, account in
                json.value((emailVisibility == .everyone ? account.person : account.personWithoutEmail).json)
            }
        }
        return .page(people, next: next)
    }
}

/// Where a list of people goes on: after a username. Opaque to clients.
private struct PeopleCursor {
    let usernameKey: String

    init(after account: Account) { usernameKey = account.username.lowercased() }

    init(_ text: String) throws(ServiceError) {
        guard let bytes = Base64URL.decode(text), let key = String(validating: bytes, as: UTF8.self),
            let username = try? Username(key), username.key == key  // any objection means the same
        else { throw ServiceError(.malformedRequest, "`cursor` is not one that was given out.") }
        usernameKey = key
    }

    var text: String { Base64URL.encode(Array(usernameKey.utf8)) }
}

import Contracts
import JSON
import MessageBus
import Security
import ServiceKit
import Storage

/// People are shown: to themselves, to other services, and to those who look for somebody.
extension Accounts {
    /// The caller, as they see themselves.
    func me(_ caller: Caller) async throws -> Reply {
        guard let account = try await database.read({ try PeopleStore($0).account(caller.id) }) else {
            // A good token of a person who is not here: another database than the one it was made for.
            throw ServiceError(.unauthenticated, "This account is not known here. Sign in again.")
        }
        return Reply(.ok, account.person.json)
    }

    /// The answer has to fit a line of the bus: 1 MiB, at up to 250 bytes for a person without the longest names.
    private static let maxLookedUp = 2000

    /// For other services: `{ids, viewerSharesRooms}` → `[Person]`, those of the ids that exist, in no order.
    ///
    /// Addresses are shown as the setting says; whoever asks knows whether the one it asks for shares a room with them all.
    func lookUpPeople(_ fields: RequestFields) async throws -> Reply {
        let ids = try fields.strings("ids", count: 0...Self.maxLookedUp).filter(\.mayBeID)
        let viewerSharesRooms = try fields.optionalBool("viewerSharesRooms") ?? false
        let showsEmail = emailVisibility == .everyone || (emailVisibility == .shared && viewerSharesRooms)
        let accounts = try await database.read { try PeopleStore($0).accounts(ids) }
        let people = JSONWriter.value { json in
            json.array(of: accounts) { json, account in
                json.value((showsEmail ? account.person : account.personWithoutEmail).json)
            }
        }
        return Reply(.ok, people)
    }

    private static let standardLimit = 50
    private static let maxLimit = 200

    /// `{q?, limit?, cursor?}`, texts as the query has them → a page of people who share no room with the caller, by username.
    func peopleWithoutRooms(
        _ fields: RequestFields, _ caller: Caller, _ context: BusContext
    ) async throws -> Reply {
        let prefix = try fields.optionalString("q") ?? ""
        guard !prefix.hasForbiddenControls else { throw ServiceError.invalid("q", "has control characters in it") }
        let limit = try fields.queryLimit(standard: Self.standardLimit, max: Self.maxLimit)
        let cursor = try fields.optionalString("cursor").map(PeopleCursor.init)

        let excluded = try await partners.partners(of: caller.id, context).union([caller.id])
        // One more than is shown: whether there is a next page.
        let found = try await database.read {
            try PeopleStore($0).people(
                startingWith: prefix, after: cursor?.usernameKey ?? "", without: Array(excluded), limit: limit + 1)
        }
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

/// The cursor of a list of people: after a username. Opaque to clients.
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

/// Which people share a room.
protocol PartnerDirectory: Sendable {
    /// The ids of all people who share a room with a person.
    ///
    /// - Throws: `service_unavailable` if no service answers.
    func partners(of personID: String, _ context: BusContext) async throws(ServiceError) -> Set<String>
}

/// Asks the rooms service: `rooms.partners {userId, cursor?}` → `["userId", …]`, in pages.
struct RoomsPartners: PartnerDirectory {
    let bus: any MessageBus

    func partners(of personID: String, _ context: BusContext) async throws(ServiceError) -> Set<String> {
        let ids = try await bus.askForAll(Subject.partners, context, of: "Rooms") { $0.member("userId", personID) }
        return Set(ids.compactMap(\.string))
    }
}

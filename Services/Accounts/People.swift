import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let me = RequestDescription("Returns the caller.", gives: Person.schema)
    static let withoutRooms = RequestDescription(
        "Lists people who share no room with the caller, by username.",
        takes: Accounts.search, gives: .array(of: Person.schema), isPaged: true, errors: [.invalidField])
}

/// Requests that find people: the caller, people for other services, and people without shared rooms.
extension Accounts {
    /// Renews the keys of people who were registered by an earlier version, beside requests.
    ///
    /// - Returns: the task, which ends early if the database closes.
    @discardableResult
    func renewKeys() -> Task<Void, any Error> {
        Task {
            var last = ""
            while true {
                let old = try await database.read { [last] in
                    try PeopleStore($0).peopleWithOldKeys(after: last, limit: 500)
                }
                guard let end = old.last else { return }
                try await database.write { try PeopleStore($0).renewKeys(of: old) }
                last = end.id
            }
        }
    }

    /// Returns the caller, as they see themselves.
    func me(_ caller: Caller) async throws -> Reply {
        guard let account = try await database.read({ try PeopleStore($0).account(caller.id) }) else {
            // The token is valid, but this database has no such person: the token was issued for another database.
            throw ServiceError(.unauthenticated, "This account is not known here. Sign in again.")
        }
        return Reply(.ok, account.person.json)
    }

    /// The maximum number of people in one request. The reply has to fit into a line of the bus (1 MiB): a person
    /// takes up to 250 bytes, unless the names are very long.
    private static let maxLookedUp = 2000

    /// Looks up people for other services: `{ids, viewerSharesRooms}` → `[Person]`, the existing ones, in no
    /// order.
    ///
    /// The setting decides whether e-mail addresses are shown. The requesting service knows whether the viewer
    /// shares a room with all of these people.
    func lookUpPeople(_ fields: RequestFields) async throws -> Reply {
        let ids = try fields.strings("ids", count: 0...Self.maxLookedUp).filter(\.mayBeID)
        let viewerSharesRooms = try fields.optionalBool("viewerSharesRooms") ?? false
        let showsEmail = openness.emails == .everyone || (openness.emails == .shared && viewerSharesRooms)
        let accounts = try await database.read { try PeopleStore($0).accounts(ids) }
        return Reply(.ok, Self.people(accounts, withEmails: showsEmail))
    }

    private static func people(_ accounts: some Sequence<Account>, withEmails: Bool) -> JSONValue {
        JSONWriter.value { json in
            json.array(of: accounts) { $0.value((withEmails ? $1.person : $1.personWithoutEmail).json) }
        }
    }

    fileprivate static let search = Fields(
        .optional(prefix, or: ""), .limit(standard: 50, max: 200),
        .optional(.string("cursor", .string, PeopleCursor.init(_:))))
    private static let prefix = Field.string("q", note: "A prefix of the username or first name.") {
        text throws(ServiceError) in
        // Keyboards add a space.
        guard !text.trimmed.hasForbiddenControls else { throw .invalid("q", "has control characters in it") }
        return text.trimmed
    }

    /// Lists people who share no room with the caller, by username. The setting `DIRECTORY` decides who is found.
    ///
    /// - Parameter context: returns the context for one more request to another service.
    func peopleWithoutRooms(
        _ fields: RequestFields, _ caller: Caller, _ context: () -> BusContext
    ) async throws -> Reply {
        let (prefix, limit, cursor) = try Self.search.read(fields)
        var found: [Account] = []
        var (last, wanted) = (cursor?.usernameKey ?? "", limit + 1)
        // One more than is shown, to see whether there is a next page. Who shares rooms with many people may share one with
        // all of the next.
        while found.count <= limit {
            let candidates = try await candidates(prefix, after: last, limit: wanted)
            let others = candidates.filter { $0.id != caller.id }
            found += try await withoutRoommates(others, of: caller.id, context())
            guard candidates.count == wanted, let end = candidates.last else { break }
            (last, wanted) = (end.username.lowercased(), min(wanted * 2, Self.maxLookedUp))
        }
        let shown = found.prefix(limit)
        let next = found.count > limit ? shown.last.map { PeopleCursor(after: $0).text } : nil
        return .page(Self.people(shown, withEmails: openness.emails == .everyone), next: next)
    }

    /// Returns people that the setting `DIRECTORY` lets anybody find, in the order of their usernames.
    private func candidates(_ prefix: String, after last: String, limit: Int) async throws -> [Account] {
        try await database.read { [directory = openness.directory] connection in
            let store = PeopleStore(connection)
            return switch directory {
            case .everyone: try store.people(startingWith: prefix, after: last, limit: limit)
            case .exact: try store.credentials(named: prefix.lowercased()).map { [$0.account] } ?? []
            case .off: []
            }
        }
    }

    private func withoutRoommates(
        _ people: [Account], of personID: String, _ context: BusContext
    ) async throws -> [Account] {
        guard !people.isEmpty else { return [] }
        let found = try await roommates.roommates(of: personID, among: people.map(\.id), context)
        return people.filter { !found.contains($0.id) }
    }
}

/// The cursor of a list of people: a username. It is opaque to clients.
private struct PeopleCursor {
    let usernameKey: String

    init(after account: Account) { usernameKey = account.username.lowercased() }

    init(_ text: String) throws(ServiceError) {
        guard let bytes = Base64URL.decode(text), let key = String(validating: bytes, as: UTF8.self),
            let username = try? Username(key), username.key == key  // any error has the same meaning
        else { throw .badCursor }
        usernameKey = key
    }

    var text: String { Base64URL.encode(Array(usernameKey.utf8)) }
}

/// Finds the people who share rooms with a person.
protocol RoommateDirectory: Sendable {
    /// Returns those of some people who share a room with a person.
    ///
    /// - Throws: `service_unavailable` if no service replies.
    func roommates(
        of personID: String, among userIDs: [String], _ context: BusContext
    ) async throws(ServiceError) -> Set<String>
}

/// Requests roommates from the rooms service.
struct RoomsRoommates: RoommateDirectory {
    let bus: any MessageBus

    func roommates(
        of personID: String, among userIDs: [String], _ context: BusContext
    ) async throws(ServiceError) -> Set<String> {
        let data = JSONWriter.object {
            $0.member("userId", personID)
            $0.member("among", userIDs)
        }
        let reply = try await bus.ask(Subject.roommates, data, context, of: "Rooms")
        guard let found = reply.data.list(of: \.string) else { throw .noReply }
        return Set(found)
    }
}

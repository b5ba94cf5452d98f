import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import ParlorWorkers
import Synchronization
import Testing

@testable import ParlorAccounts

/// The service's logic on a database of its own, with a clock that the test moves.
struct AccountsHarness {
    let clock = ManualClock()
    let roommates = FakeRoommates()
    let key = JSONWebKey.hs256(secret: Array(repeating: 7, count: 32))
    let accounts: Accounts

    /// - Parameter database: SQLite in memory by default.
    init(
        openness: Openness = Openness(), cost: PasswordHash.Cost = .forTests,
        on database: (any Database)? = nil
    ) throws {
        let randomness = SeededRandomness(seed: 1)
        accounts = Accounts(
            database: try database ?? SQLiteDatabase(.temporary, migrations: AccountsSchema.migrations),
            passwords: PasswordChecker(
                WorkerPool(threads: 2, maxWaiting: 64), cost: cost, randomness: randomness),
            tokens: TokenPolicy(key: key, accessLifetime: .seconds(3600), sessionLifetime: .seconds(86_400)),
            ids: UUIDv7Generator(randomness: randomness), clock: clock, randomness: randomness,
            openness: openness, roommates: roommates)
    }

    /// Registers, and gives back what a client would keep.
    func person(
        _ username: String, firstName: String? = nil, email: String? = nil, password: String = "password"
    ) async throws -> SignedIn {
        let reply = try await accounts.register(
            try RequestFields.writing {
                $0.member("username", username)
                $0.member("password", password)
                $0.member("firstName", firstName)
                $0.member("email", email)
            })
        return try SignedIn(reply)
    }

    /// - Parameter address: where from, as a gateway that counts says it; nil: nothing is counted.
    func login(_ name: String, _ password: String = "password", from address: String? = nil) async throws -> SignedIn {
        let reply = try await accounts.login(
            try RequestFields.writing {
                $0.member("username", name)
                $0.member("password", password)
                if let address { $0.member("client", client(at: address).json) }
            })
        return try SignedIn(reply)
    }

    func refresh(_ token: String, from address: String? = nil) async throws -> SignedIn {
        try SignedIn(
            await accounts.refresh(
                try RequestFields.writing {
                    $0.member("refreshToken", token)
                    if let address { $0.member("client", client(at: address).json) }
                }))
    }

    func client(at address: String, session: String? = nil) -> ClientInfo {
        ClientInfo(address: address, userAgent: "Test/1", sessionID: session, isLimited: true)
    }

    /// As the gateway describes this session's requests.
    func fields(of person: SignedIn, _ write: (inout JSONWriter) -> Void = { _ in }) throws -> RequestFields {
        let client = ClientInfo(
            address: "10.0.0.1", userAgent: "Test/1", sessionID: try session(of: person), isLimited: false)
        return try RequestFields.writing {
            write(&$0)
            $0.member("client", client.json)
        }
    }

    /// The session that an access token names.
    func session(of person: SignedIn) throws -> String {
        let claims = try JSONWebToken.verify(
            person.token, keys: JSONWebKeySet([key]), at: clock.now().milliseconds / 1000)
        return try #require(AccessClaims(claims)?.sessionID)
    }

    /// What the log has for gateways: the ids of sessions that ended, in order.
    func ended() async throws -> [String] {
        try await EventLog(accounts.database).entries(since: 0, limit: 1000).flatMap { entry in
            // What the last release reads says the same.
            #expect(entry.emissions.map(\.event) == ["sessions:ended"])
            #expect(entry.emissions.map { SessionsEnded($0.data) } == [entry.fact?.sessionsEnded])
            return entry.fact?.sessionsEnded?.sessionIDs ?? []
        }
    }

    func withoutRooms(
        for person: SignedIn, _ query: KeyValuePairs<String, String> = [:]
    ) async throws -> (people: [Person], next: String?) {
        let reply = try await accounts.peopleWithoutRooms(
            try RequestFields.writing { for (name, value) in query { $0.member(name, value) } }, person.caller
        ) { BusContext(requestID: "test") }
        return (reply.data.array?.compactMap(Person.init) ?? [], reply.page?.string)
    }
}

/// A grant, read as a client reads it.
struct SignedIn {
    let status: Reply.Status
    let token: String
    let expiresAt: String
    let refreshToken: String
    let person: Person

    init(_ reply: Reply) throws {
        let grant = try #require(reply.data.object)
        status = reply.status
        token = try #require(grant["token"]?.string)
        expiresAt = try #require(grant["expiresAt"]?.string)
        refreshToken = try #require(grant["refreshToken"]?.string)
        person = try #require(grant["user"].flatMap(Person.init))
    }

    var caller: Caller { Caller(id: person.id, username: person.username, firstName: person.firstName) }
}

/// Who shares a room with whom, as a test says; it can be down.
final class FakeRoommates: RoommateDirectory {
    private struct State {
        var pairs: [(String, String)] = []
        var isDown = false
        var asked: [Int] = []
    }

    private let state = Mutex(State())

    func share(_ a: SignedIn, _ b: SignedIn) { state.withLock { $0.pairs.append((a.person.id, b.person.id)) } }
    func takeDown() { state.withLock { $0.isDown = true } }

    /// The numbers of people in each question.
    var asked: [Int] { state.withLock { $0.asked } }

    func roommates(
        of personID: String, among userIDs: [String], _ context: BusContext
    ) async throws(ServiceError) -> Set<String> {
        let state = state.withLock { state in
            state.asked.append(userIDs.count)
            return state
        }
        if state.isDown { throw .unavailable("Rooms") }
        let all = state.pairs.flatMap { $0 == personID ? [$1] : $1 == personID ? [$0] : [] }
        return Set(userIDs).intersection(all)
    }
}

extension RequestFields {
    static func writing(_ write: (inout JSONWriter) -> Void) throws -> RequestFields {
        try RequestFields(JSONWriter.object(write))
    }
}

import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorAccounts

@Suite("Sessions as their person sees them")
struct SessionListTests {
    private let harness: AccountsHarness

    init() throws { harness = try AccountsHarness() }

    private func list(_ person: SignedIn) async throws -> [JSONValue] {
        try #require(try await harness.accounts.showSessions(harness.fields(of: person), person.caller).data.array)
    }

    private func ids(_ person: SignedIn) async throws -> [String] {
        try await list(person).compactMap { $0["id"]?.string }
    }

    private func isOver(_ person: SignedIn) async -> Bool {
        await failure { try await harness.refresh(person.refreshToken) }?.code == .invalidToken
    }

    @Test("a session has its times, where it was last used from and with what; and a refresh stays in it")
    func list() async throws {
        let phone = try await harness.person("alice")
        harness.clock.advance(by: .seconds(5))
        let tablet = try await harness.login("alice", from: "2001:db8::1")
        harness.clock.advance(by: .seconds(5))
        let now = harness.clock.now()
        let renewed = try await harness.refresh(tablet.refreshToken, from: "10.0.0.9")
        let sessions = try await list(phone)
        #expect(sessions.map { $0["current"]?.bool } == [true, false])
        let shown = try #require(sessions.last)
        #expect(shown["id"]?.string == (try harness.session(of: tablet)))
        #expect(try harness.session(of: renewed) == harness.session(of: tablet))
        #expect(shown["createdAt"]?.string == now.adding(.seconds(-5)).iso)
        #expect(shown["lastUsedAt"]?.string == now.iso)
        #expect(shown["address"]?.string == "10.0.0.9")
        #expect(shown["userAgent"]?.string == "Test/1")
        #expect(shown.object?.names == ["id", "createdAt", "lastUsedAt", "userAgent", "address", "current"])
    }

    @Test("what a client says of itself is cut to what can be shown")
    func userAgents() {
        let agent = "Rooms\u{202E}\n/7\u{0} (iPad)" + String(repeating: "é", count: 300)
        let client = SigningClient(
            ClientInfo(address: "::1", userAgent: agent, sessionID: nil, isLimited: true))
        #expect(client.userAgent.hasPrefix("Rooms/7 (iPad)é"))
        #expect(client.userAgent.unicodeScalars.count == SigningClient.maxUserAgent)
    }

    @Test("one session is ended by its name, by its person only, and the log has it")
    func endOne() async throws {
        let (alice, bob) = (try await harness.person("alice"), try await harness.person("bob"))
        let tablet = try await harness.login("alice")
        func end(_ id: String, by person: SignedIn) async throws {
            let fields = try harness.fields(of: person) { $0.member("id", id) }
            #expect(try await harness.accounts.endSession(fields, person.caller).status == .noContent)
        }
        for id in [try harness.session(of: alice), "nonsense", "nul\0", ""] { try await end(id, by: bob) }
        #expect(try await harness.ended() == [])
        try await end(try harness.session(of: tablet), by: alice)
        #expect(try await harness.ended() == [harness.session(of: tablet)])
        #expect(await isOver(tablet))
        #expect(try await ids(alice) == [harness.session(of: alice)])
        try await end(try harness.session(of: alice), by: alice)
        #expect(await isOver(alice))
    }

    @Test("all sessions but the one that asks are ended; a token that names none is of none")
    func endOthers() async throws {
        let alice = try await harness.person("alice")
        let tablet = try await harness.login("alice")
        let bob = try await harness.person("bob")
        _ = try await harness.accounts.endOtherSessions(harness.fields(of: tablet), alice.caller)
        #expect(try await harness.ended() == [harness.session(of: alice)])
        #expect(await isOver(alice))
        _ = try await harness.accounts.endOtherSessions(
            try RequestFields.writing { $0.member("x", 1) }, alice.caller)
        #expect(await isOver(tablet))
        #expect(await !isOver(bob))
    }

    @Test("the log has the end by reuse, of one session too many, and of what has no token out any more")
    func otherEnds() async throws {
        let alice = try await harness.person("alice")
        let renewed = try await harness.refresh(alice.refreshToken)
        #expect(await isOver(alice))
        #expect(await isOver(renewed))
        #expect(try await harness.ended() == [harness.session(of: alice)])
        let first = try await harness.login("alice")
        for _ in 0..<SessionsStore.maxPerPerson {
            harness.clock.advance(by: .seconds(1))
            _ = try await harness.login("alice")
        }
        #expect(try await harness.ended() == [harness.session(of: alice), harness.session(of: first)])
        harness.clock.advance(by: .seconds(3600))
        let last = try await harness.login("alice")
        _ = try await harness.accounts.endOtherSessions(harness.fields(of: last), last.caller)
        // Its devices are to go with each.
        #expect(try await harness.ended().count == SessionsStore.maxPerPerson + 2)
    }

    @Test("a token does not outlive its session")
    func tokenLifetime() {
        let policy = TokenPolicy(
            key: .hs256(secret: Array(repeating: 7, count: 32)), accessLifetime: .seconds(3600),
            sessionLifetime: .seconds(60))
        let now = Timestamp(milliseconds: 1_700_000_000_500)
        #expect(policy.accessExpiry(at: now) == Timestamp(milliseconds: 1_700_000_060_000))
    }

    // MARK: Password

    private func change(
        _ person: SignedIn, from current: String = "password", to new: String = "another one"
    ) async throws -> SignedIn {
        try SignedIn(
            await harness.accounts.changePassword(
                harness.fields(of: person) {
                    $0.member("currentPassword", current)
                    $0.member("newPassword", new)
                }, person.caller))
    }

    @Test("a new password goes on in the same session and ends all others")
    func newPassword() async throws {
        let alice = try await harness.person("alice")
        let tablet = try await harness.login("alice")
        let after = try await change(alice)
        #expect(after.status == .ok)
        #expect(try harness.session(of: after) == harness.session(of: alice))
        #expect(try await harness.ended() == [harness.session(of: tablet)])
        #expect(await isOver(tablet))
        _ = try await harness.refresh(after.refreshToken)
        #expect(await failure { try await harness.login("alice") }?.code == .invalidCredentials)
        _ = try await harness.login("alice", "another one")
    }

    @Test("a wrong password, or a bad new one, changes nothing")
    func refused() async throws {
        let alice = try await harness.person("alice")
        let tablet = try await harness.login("alice")
        for wrong in ["passwore", "", String(repeating: "x", count: 1000)] {
            #expect(await failure { try await change(alice, from: wrong) }?.code == .invalidCredentials)
        }
        for bad in ["1234567", String(repeating: "x", count: 129)] {
            let error = await failure { try await change(alice, to: bad) }
            #expect(error?.code == .invalidField)
            #expect(error?.message.contains("newPassword") == true)
        }
        #expect(try await harness.ended() == [])
        for session in [alice, tablet] { #expect(await !isOver(session)) }
    }

    @Test("of two changes at once from one password, one is made; and a session that has ended changes none")
    func races() async throws {
        let alice = try await harness.person("alice")
        let tablet = try await harness.login("alice")
        async let one = failure { try await change(alice, to: "the first one") }
        async let two = failure { try await change(tablet, to: "the second one") }
        let errors = await [one, two].compactMap { $0?.code }
        #expect(errors.count == 1)
        #expect([.unauthenticated, .invalidCredentials].contains(errors.first))
        _ = try await harness.login("alice", await one == nil ? "the first one" : "the second one")
    }

    @Test("sessions from before they had names go on, and can be shown and ended", arguments: Engine.lasting)
    func migration(engine: Engine) async throws {
        let old = Array(AccountsSchema.migrations.prefix(2))
        let folder = TemporaryFolder()
        let before = try engine.open(old, in: folder)
        let tokens = [1, 2].map { RefreshToken(randomness: SeededRandomness(seed: UInt64($0))) }
        try await before.write { connection in
            try connection.execute(
                "INSERT INTO people (id, username, username_key, password_hash, created_at) VALUES ('p', 'a', 'a', 'x', 5)"
            )
            for token in tokens {
                try connection.execute(
                    "INSERT INTO sessions (id, person_id, token_hash, expires_at) VALUES ($1, 'p', $2, $3)",
                    token.sessionID, token.hash, Int.max)
            }
        }
        await before.close()
        let after = try engine.open(AccountsSchema.migrations, in: folder)
        let now = Timestamp(milliseconds: 9)
        let sessions = try await after.read { try SessionsStore($0).sessions(of: "p", at: now) }
        #expect(sessions.map(\.id) == ["p-0", "p-1"])
        #expect(sessions.allSatisfy { $0.createdAt.milliseconds == 5 && $0.lastUsedAt.milliseconds == 5 })
        try await after.write { try SessionsStore($0).endSession(of: tokens[0], at: now) }
        #expect(try await after.read { try SessionsStore($0).sessions(of: "p", at: now) }.count == 1)
        await after.close()
    }
}

import ParlorContracts
import ParlorSecurity
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorAccounts

/// A client that loses the answer to a refresh asks again under the same name.
@Suite("Refreshes that are repeated")
struct RefreshAttemptTests {
    private let folder = TemporaryFolder()

    private func refresh(_ harness: AccountsHarness, _ token: String, attempt: String?) async throws -> SignedIn {
        try SignedIn(
            await harness.accounts.refresh(
                try RequestFields.writing {
                    $0.member("refreshToken", token)
                    if let attempt { $0.member("attemptId", attempt) }
                }))
    }

    private func isRefused(_ harness: AccountsHarness, _ token: String, attempt: String? = nil) async -> Bool {
        await failure { try await refresh(harness, token, attempt: attempt) }?.code == .invalidToken
    }

    private func attemptCount(_ harness: AccountsHarness) async throws -> Int? {
        try await harness.accounts.database.read { connection in
            try connection.first("SELECT count(*) FROM refresh_attempts") { $0.int(0) }
        }
    }

    private func harness(_ engine: Engine) throws -> AccountsHarness {
        try AccountsHarness(on: engine.open(AccountsSchema.migrations, in: folder))
    }

    @Test("the same attempt gets the same tokens within a minute, and they go on", arguments: Engine.allCases)
    func repeated(engine: Engine) async throws {
        let harness = try harness(engine)
        let alice = try await harness.person("alice")
        harness.clock.advance(by: .seconds(100))
        let first = try await refresh(harness, alice.refreshToken, attempt: "one")
        for pause in [0, 30, 29] {
            harness.clock.advance(by: .seconds(pause))
            let again = try await refresh(harness, alice.refreshToken, attempt: "one")
            #expect(again.refreshToken == first.refreshToken)
            #expect(again.token == first.token)
            #expect(again.expiresAt == first.expiresAt)
        }
        let second = try await refresh(harness, first.refreshToken, attempt: "two")
        #expect(second.refreshToken != first.refreshToken)
        // What was asked for before is answered as then, and harms nothing.
        #expect(try await refresh(harness, first.refreshToken, attempt: "two").refreshToken == second.refreshToken)
        #expect(try await refresh(harness, second.refreshToken, attempt: nil).person == alice.person)
    }

    @Test("until the next token is used, the same attempt gets it, however late", arguments: Engine.allCases)
    func late(engine: Engine) async throws {
        let harness = try harness(engine)
        let alice = try await harness.person("alice")
        let first = try await refresh(harness, alice.refreshToken, attempt: "one")
        for pause in [61, 4 * 3600] {
            harness.clock.advance(by: .seconds(pause))
            let again = try await refresh(harness, alice.refreshToken, attempt: "one")
            #expect(again.refreshToken == first.refreshToken)
            // The access token of the first answer may have expired.
            #expect(again.expiresAt > first.expiresAt)
        }
        let second = try await refresh(harness, first.refreshToken, attempt: "two")
        harness.clock.advance(by: .seconds(3600))
        #expect(try await refresh(harness, first.refreshToken, attempt: "two").refreshToken == second.refreshToken)
        #expect(try await harness.ended() == [])
    }

    @Test("a token whose answer was lost still signs out, also once the next one was used")
    func logout() async throws {
        for isUsed in [false, true] {
            let harness = try AccountsHarness()
            let alice = try await harness.person("alice")
            let next = try await refresh(harness, alice.refreshToken, attempt: "one")
            if isUsed { _ = try await refresh(harness, next.refreshToken, attempt: "two") }
            _ = try await harness.accounts.logout(
                try RequestFields.writing { $0.member("refreshToken", alice.refreshToken) })
            #expect(try await harness.ended() == [harness.session(of: alice)])
        }
    }

    @Test("a minute after the next token was used, under another name or without one it is reuse: the session ends")
    func reuse() async throws {
        for (pause, attempt) in [(60, "one"), (0, "two"), (0, nil)] as [(Int, String?)] {
            let harness = try AccountsHarness()
            let alice = try await harness.person("alice")
            var next = try await refresh(harness, alice.refreshToken, attempt: "one")
            if pause > 0 { next = try await refresh(harness, next.refreshToken, attempt: "next") }
            harness.clock.advance(by: .seconds(pause))
            #expect(await isRefused(harness, alice.refreshToken, attempt: attempt))
            #expect(await isRefused(harness, next.refreshToken))
            #expect(try await harness.ended() == [harness.session(of: alice)])
        }
    }

    @Test("a token that was used without an attempt is not repeated under one")
    func namedLate() async throws {
        let harness = try AccountsHarness()
        let alice = try await harness.person("alice")
        let next = try await refresh(harness, alice.refreshToken, attempt: nil)
        #expect(await isRefused(harness, alice.refreshToken, attempt: "one"))
        #expect(await isRefused(harness, next.refreshToken))
    }

    @Test(
        "an attempt counts for its own session alone: under the name of another it is reuse, which ends that one",
        arguments: Engine.allCases)
    func otherSession(engine: Engine) async throws {
        let harness = try harness(engine)
        let (mallory, victor) = (try await harness.person("mallory"), try await harness.person("victor"))
        let next = try await refresh(harness, mallory.refreshToken, attempt: "one")
        let (named, secret) = (
            try #require(Base64URL.decode(victor.refreshToken)), try #require(Base64URL.decode(mallory.refreshToken))
        )
        let forged = Base64URL.encode(Array(named.prefix(16) + secret.suffix(32)))
        #expect(await isRefused(harness, forged, attempt: "one"))
        #expect(try await harness.ended() == [harness.session(of: victor)])
        #expect(await isRefused(harness, victor.refreshToken))
        // The attempt's own session goes on.
        #expect(try await refresh(harness, next.refreshToken, attempt: "two").person == mallory.person)
    }

    @Test("of many with one token and one attempt at once, all get the same")
    func race() async throws {
        let harness = try AccountsHarness()
        let alice = try await harness.person("alice")
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 {
                group.addTask { try await refresh(harness, alice.refreshToken, attempt: "one").refreshToken }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
        #expect(try await harness.ended() == [])
    }

    @Test("an attempt of a session that has ended gets nothing")
    func ended() async throws {
        let harness = try AccountsHarness()
        let alice = try await harness.person("alice")
        let next = try await refresh(harness, alice.refreshToken, attempt: "one")
        _ = try await harness.accounts.logout(
            try RequestFields.writing { $0.member("refreshToken", next.refreshToken) })
        #expect(await isRefused(harness, alice.refreshToken, attempt: "one"))
        #expect(try await attemptCount(harness) == 0)
    }

    @Test("an attempt has 1 to 64 characters", arguments: ["", String(repeating: "x", count: 65)])
    func bounds(attempt: String) async throws {
        let harness = try AccountsHarness()
        let alice = try await harness.person("alice")
        let error = await failure { try await refresh(harness, alice.refreshToken, attempt: attempt) }
        #expect(error?.code == .invalidField)
        let longest = String(repeating: "é", count: 64)
        _ = try await refresh(harness, alice.refreshToken, attempt: longest)
    }

    @Test("the database has no token that would make the next one, and forgets attempts that get no answer any more")
    func nothingToSteal() async throws {
        let harness = try AccountsHarness()
        let alice = try await harness.person("alice")
        let next = try await refresh(harness, alice.refreshToken, attempt: "one")
        let salt = try await harness.accounts.database.read { connection in
            try connection.first("SELECT salt FROM refresh_attempts") { $0.bytes(0) }
        }
        let used = try #require(RefreshToken(alice.refreshToken))
        #expect(RefreshToken(after: used, salt: try #require(salt)).text == next.refreshToken)
        harness.clock.advance(by: .seconds(60))
        _ = try await refresh(harness, next.refreshToken, attempt: "two")
        #expect(try await attemptCount(harness) == 1)
    }

    @Test("other services learn which sessions go on")
    func liveSessions() async throws {
        let harness = try AccountsHarness()
        let (alice, tablet) = (try await harness.person("alice"), try await harness.login("alice"))
        let ids = [try harness.session(of: alice), try harness.session(of: tablet)]
        func live() async throws -> [String] {
            let reply = try await harness.accounts.lookUpSessions(
                try RequestFields.writing {
                    $0.member("ids", array: { for id in ids + ["nobody's"] { $0.string(id) } })
                })
            return reply.data.array?.compactMap(\.string).sorted() ?? []
        }
        #expect(try await live() == ids.sorted())
        harness.clock.advance(by: .seconds(4000))
        _ = try await harness.accounts.logout(
            try RequestFields.writing { $0.member("refreshToken", alice.refreshToken) })
        #expect(try await live() == [ids[1]])
        // Its last token ended before it: its devices are to go all the same.
        #expect(try await harness.ended() == [ids[0]])
        harness.clock.advance(by: .seconds(86_400))
        #expect(try await live() == [])
    }
}

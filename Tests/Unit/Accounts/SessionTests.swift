import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import ParlorServiceKitTesting
import Testing

@testable import ParlorAccounts

@Suite("Sessions")
struct SessionTests {
    private let harness: AccountsHarness

    init() throws { harness = try AccountsHarness() }

    private func isRefused(_ token: String) async -> Bool {
        await failure { try await harness.refresh(token) }?.code == .invalidToken
    }

    @Test("a refresh token is exchanged for the next one, for the same person")
    func rotation() async throws {
        let alice = try await harness.person("alice")
        var tokens = [alice.refreshToken]
        for _ in 0..<5 {
            harness.clock.advance(by: .seconds(60))
            let next = try await harness.refresh(tokens[tokens.count - 1])
            #expect(next.status == .ok)
            #expect(next.person == alice.person)
            tokens.append(next.refreshToken)
        }
        #expect(Set(tokens).count == tokens.count)
    }

    @Test("a reused token ends its session, for every token of it, and no other session")
    func reuse() async throws {
        let phone = try await harness.person("alice")
        let tablet = try await harness.login("alice")
        let second = try await harness.refresh(phone.refreshToken).refreshToken
        let third = try await harness.refresh(second).refreshToken
        #expect(await isRefused(phone.refreshToken))
        #expect(await isRefused(third))
        #expect(await isRefused(second))
        #expect(try await harness.refresh(tablet.refreshToken).person == phone.person)
    }

    @Test("one of many concurrent refreshes with the same token succeeds")
    func race() async throws {
        let alice = try await harness.person("alice")
        let successes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask { [harness] in await failure { try await harness.refresh(alice.refreshToken) } == nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(successes == 1)
    }

    @Test("a session ends when it is unused for its whole lifetime, and a refresh prolongs it")
    func expiry() async throws {
        let alice = try await harness.person("alice")
        let bob = try await harness.person("bob")
        harness.clock.advance(by: .seconds(86_399))
        let renewed = try await harness.refresh(alice.refreshToken)
        harness.clock.advance(by: .seconds(1))
        #expect(await isRefused(bob.refreshToken))
        harness.clock.advance(by: .seconds(86_398))
        _ = try await harness.refresh(renewed.refreshToken)
    }

    @Test("ended sessions are removed when someone signs in")
    func sweeping() async throws {
        for n in 0..<5 { _ = try await harness.person("person\(n)") }
        harness.clock.advance(by: .seconds(86_400))
        _ = try await harness.login("person0")
        let sessions = try await harness.accounts.database.read { connection in
            try connection.first("SELECT count(*) FROM sessions") { $0.int(0) }
        }
        #expect(sessions == 1)
    }

    @Test("a person's least recently used sessions end when there are too many, and nobody else's")
    func cap() async throws {
        let alice = try await harness.person("alice")
        let bob = try await harness.person("bob")
        var second = try await harness.login("alice").refreshToken
        for _ in 2..<SessionsStore.maxPerPerson {
            harness.clock.advance(by: .seconds(1))
            _ = try await harness.login("alice")
        }
        second = try await harness.refresh(second).refreshToken
        harness.clock.advance(by: .seconds(1))
        let last = try await harness.login("alice").refreshToken
        #expect(await isRefused(alice.refreshToken))
        for token in [second, last, bob.refreshToken] { #expect(await !isRefused(token)) }
    }

    @Test("an older token of the session signs out, too, as it would end the session in a refresh")
    func logoutWithAnOldToken() async throws {
        let alice = try await harness.person("alice")
        let renewed = try await harness.refresh(alice.refreshToken)
        let other = try await harness.login("alice")
        _ = try await harness.refresh(renewed.refreshToken)
        let body = try RequestFields.writing { $0.member("refreshToken", alice.refreshToken) }
        #expect(try await harness.accounts.logout(body).status == .noContent)
        #expect(try await harness.ended() == [harness.session(of: alice)])
        #expect(await !isRefused(other.refreshToken))
    }

    @Test("signing out ends the session, may be repeated, and the person can sign in again")
    func logout() async throws {
        let alice = try await harness.person("alice")
        let body = try RequestFields.writing { $0.member("refreshToken", alice.refreshToken) }
        for _ in 0..<2 { #expect(try await harness.accounts.logout(body).status == .noContent) }
        #expect(await isRefused(alice.refreshToken))
        let garbage = try RequestFields.writing { $0.member("refreshToken", "nonsense") }
        #expect(try await harness.accounts.logout(garbage).status == .noContent)
        #expect(try await harness.login("alice").person == alice.person)
    }

    @Test(
        "signing out without any token is refused as a request of nobody, and with an access token alone as incomplete")
    func logoutWithoutTokens() async throws {
        #expect(
            await failure { try await harness.accounts.logout(RequestFields(.emptyObject)) }?.code == .unauthenticated)
        let client = harness.client(at: "192.0.2.1", session: "s")
        let body = try RequestFields.writing { $0.member(ClientInfo.member, client.json) }
        #expect(await failure { try await harness.accounts.logout(body) } == .missing("refreshToken"))
    }

    @Test("a malformed refresh token is refused")
    func garbage() async throws {
        let alice = try await harness.person("alice")
        for token in [
            "", "nonsense", "nul\0nul", String(repeating: "x", count: 2000), alice.token, alice.refreshToken + "A",
        ] {
            #expect(await isRefused(token))
        }
        // None of them named a session, so none has ended one.
        _ = try await harness.refresh(alice.refreshToken)
    }

    @Test("the database contains no token and no password")
    func nothingToSteal() async throws {
        let alice = try await harness.person("alice", password: "the password")
        let (passwordHash, tokenHash) = try #require(
            try await harness.accounts.database.read { connection in
                try connection.first(
                    "SELECT password_hash, token_hash FROM people JOIN sessions ON sessions.person_id = people.id"
                ) { ($0.text(0), $0.bytes(1)) }
            })
        #expect(passwordHash.hasPrefix("$scrypt$"))
        #expect(!passwordHash.contains("the password"))
        let token = try #require(Base64URL.decode(alice.refreshToken))
        #expect(tokenHash == SHA256.hash(token.suffix(32)))
    }
}

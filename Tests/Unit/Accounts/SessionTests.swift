import Contracts
import JSON
import Security
import ServiceKit
import ServiceKitTesting
import Testing

@testable import Accounts

@Suite("Sessions")
struct SessionTests {
    private let world: AccountsWorld

    init() throws { world = try AccountsWorld() }

    private func isRefused(_ token: String) async -> Bool {
        await failure { try await world.refresh(token) }?.code == .invalidToken
    }

    @Test("a refresh token gives the next one, for the same person")
    func rotation() async throws {
        let alice = try await world.person("alice")
        var tokens = [alice.refreshToken]
        for _ in 0..<5 {
            world.clock.advance(by: .seconds(60))
            let next = try await world.refresh(tokens[tokens.count - 1])
            #expect(next.status == .ok)
            #expect(next.person == alice.person)
            tokens.append(next.refreshToken)
        }
        #expect(Set(tokens).count == tokens.count)
    }

    @Test("one that comes again ends its session, for every token of it, and no other session")
    func reuse() async throws {
        let phone = try await world.person("alice")
        let tablet = try await world.login("alice")
        let second = try await world.refresh(phone.refreshToken).refreshToken
        let third = try await world.refresh(second).refreshToken
        #expect(await isRefused(phone.refreshToken))
        #expect(await isRefused(third))
        #expect(await isRefused(second))
        #expect(try await world.refresh(tablet.refreshToken).person == phone.person)
    }

    @Test("of many who present one token at once, one gets through")
    func race() async throws {
        let alice = try await world.person("alice")
        let successes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask { [world] in await failure { try await world.refresh(alice.refreshToken) } == nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(successes == 1)
    }

    @Test("a session ends when nobody comes for its whole life, and a refresh prolongs it")
    func expiry() async throws {
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        world.clock.advance(by: .seconds(86_399))
        let renewed = try await world.refresh(alice.refreshToken)
        world.clock.advance(by: .seconds(1))
        #expect(await isRefused(bob.refreshToken))
        world.clock.advance(by: .seconds(86_398))
        _ = try await world.refresh(renewed.refreshToken)
    }

    @Test("what ended is swept when someone signs in")
    func sweeping() async throws {
        for n in 0..<5 { _ = try await world.person("person\(n)") }
        world.clock.advance(by: .seconds(86_400))
        _ = try await world.login("person0")
        let sessions = try await world.accounts.database.read { connection in
            try connection.first("SELECT count(*) FROM sessions") { $0.int(0) }
        }
        #expect(sessions == 1)
    }

    @Test("of too many sessions of one person, those that were away for longest end, and nobody else's")
    func cap() async throws {
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        var second = try await world.login("alice").refreshToken
        for _ in 2..<SessionsStore.maxPerPerson {
            world.clock.advance(by: .seconds(1))
            _ = try await world.login("alice")
        }
        second = try await world.refresh(second).refreshToken
        world.clock.advance(by: .seconds(1))
        let last = try await world.login("alice").refreshToken
        #expect(await isRefused(alice.refreshToken))
        for token in [second, last, bob.refreshToken] { #expect(await !isRefused(token)) }
    }

    @Test("an old token signs nobody out, nor one that was made up for the session; the newest does")
    func logoutWithAnOldToken() async throws {
        let alice = try await world.person("alice")
        let renewed = try await world.refresh(alice.refreshToken)
        var forged = try #require(Base64URL.decode(alice.refreshToken))
        forged.replaceSubrange(16..., with: [UInt8](repeating: 0, count: 32))
        for token in [alice.refreshToken, Base64URL.encode(forged)] {
            let body = try RequestFields.writing { $0.member("refreshToken", token) }
            #expect(try await world.accounts.logout(body).status == .noContent)
        }
        #expect(try await world.ended() == [])
        let last = try await world.refresh(renewed.refreshToken)
        _ = try await world.accounts.logout(
            try RequestFields.writing { $0.member("refreshToken", last.refreshToken) })
        #expect(try await world.ended() == [world.session(of: alice)])
    }

    @Test("in its own session an old token signs out, too; in another one of the same person it does not")
    func logoutInItsOwnSession() async throws {
        let alice = try await world.person("alice")
        _ = try await world.refresh(alice.refreshToken)
        world.clock.advance(by: .seconds(1))
        let other = try await world.login("alice")
        let (own, elsewhere) = (try world.session(of: alice), try world.session(of: other))
        for (session, ended) in [(elsewhere, []), (own, [own])] {
            let client = world.client(at: "192.0.2.1", session: session)
            let body = try RequestFields.writing {
                $0.member("refreshToken", alice.refreshToken)
                $0.member(ClientInfo.member, client.json)
            }
            #expect(try await world.accounts.logout(body).status == .noContent)
            #expect(try await world.ended() == ended)
        }
    }

    @Test("signing out ends the session, twice does no harm, and one can sign in again")
    func logout() async throws {
        let alice = try await world.person("alice")
        let body = try RequestFields.writing { $0.member("refreshToken", alice.refreshToken) }
        for _ in 0..<2 { #expect(try await world.accounts.logout(body).status == .noContent) }
        #expect(await isRefused(alice.refreshToken))
        let garbage = try RequestFields.writing { $0.member("refreshToken", "nonsense") }
        #expect(try await world.accounts.logout(garbage).status == .noContent)
        #expect(try await world.login("alice").person == alice.person)
    }

    @Test("what is no refresh token is refused")
    func garbage() async throws {
        let alice = try await world.person("alice")
        for token in [
            "", "nonsense", "nul\0nul", String(repeating: "x", count: 2000), alice.token, alice.refreshToken + "A",
        ] {
            #expect(await isRefused(token))
        }
        // None of them had the name of a session, so none has ended one.
        _ = try await world.refresh(alice.refreshToken)
    }

    @Test("the database has no token and no password in it")
    func nothingToSteal() async throws {
        let alice = try await world.person("alice", password: "the password")
        let (passwordHash, tokenHash) = try #require(
            try await world.accounts.database.read { connection in
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

import Glibc
import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport
import ParlorWorkers
import Synchronization
import Testing

@testable import ParlorAccounts

@Suite("Guessing")
struct GuessingTests {
    private let harness: AccountsHarness

    init() throws { harness = try AccountsHarness() }

    private func guess(_ name: String, from address: String) async -> ErrorCode? {
        await failure { try await harness.login(name, "not the password", from: address) }?.code
    }

    private func guesses(_ count: Int, at name: String, from address: String) async -> [ErrorCode?] {
        var codes: [ErrorCode?] = []
        for _ in 0..<count { codes.append(await guess(name, from: address)) }
        return codes
    }

    private static let atOnce = GuessesStore.atOnce

    @Test("an account allows ten wrong guesses, by all its names and from anywhere, and then one each 30 s")
    func limit() async throws {
        _ = try await harness.person("alice", email: "alice@example.org")
        for n in 0..<Self.atOnce {
            let name = n.isMultiple(of: 2) ? "alice" : "ALICE@example.org"
            #expect(await guess(name, from: "10.0.0.\(n)") == .invalidCredentials)
        }
        for name in ["alice", "Alice", "alice@example.org"] {
            let error = await failure { try await harness.login(name, from: "10.0.1.1") }
            #expect(error?.code == .rateLimited)
            #expect(error?.retryAfter == 30)
        }
        harness.clock.advance(by: .seconds(30))
        #expect(await guess("alice", from: "10.0.1.1") == .invalidCredentials)
        #expect(await guess("alice", from: "10.0.1.1") == .rateLimited)
    }

    @Test("a clock that was ahead keeps nobody out for longer than a full count")
    func clockSetBack() async throws {
        _ = try await harness.person("alice")
        #expect(await guess("alice", from: "10.0.0.1") == .invalidCredentials)
        harness.clock.advance(by: .seconds(-10_800))
        let error = await failure { try await harness.login("alice", from: "10.0.0.1") }
        #expect(error?.retryAfter == 30)
        harness.clock.advance(by: .seconds(30))
        _ = try await harness.login("alice", from: "10.0.0.1")
    }

    @Test("guesses from elsewhere do not lock a person out of a network that they signed in from")
    func knownNetwork() async throws {
        _ = try await harness.person("alice")
        _ = try await harness.login("alice", from: "192.0.2.7")
        let mobile = try await harness.login("alice", from: "2001:db8:1:2::1")
        _ = await guesses(Self.atOnce + 1, at: "alice", from: "203.0.113.1")
        #expect(await failure { try await harness.login("alice", from: "203.0.113.1") }?.code == .rateLimited)
        // The attack continues: one guess each half minute uses up the one that is allowed.
        for _ in 0..<20 {
            harness.clock.advance(by: .seconds(30))
            #expect(await guess("alice", from: "203.0.113.1") == .invalidCredentials)
            _ = try await harness.login("alice", from: "192.0.2.7")
            _ = try await harness.login("alice", from: "2001:db8:1:2:ffff::9")
        }
        #expect(await failure { try await harness.login("alice", from: "192.0.2.8") }?.code == .rateLimited)
        #expect(await failure { try await harness.login("alice", from: "2001:db8:1:3::1") }?.code == .rateLimited)
        // A session used in another network makes that known, too.
        _ = try await harness.refresh(mobile.refreshToken, from: "198.51.100.3")
        _ = try await harness.login("alice", from: "198.51.100.3")
    }

    @Test("a known network has an allowance of its own, and no more")
    func guessesFromKnownNetwork() async throws {
        _ = try await harness.person("alice")
        _ = try await harness.login("alice", from: "192.0.2.7")
        let codes = await guesses(Self.atOnce + 1, at: "alice", from: "192.0.2.7")
        #expect(codes.dropLast().allSatisfy { $0 == .invalidCredentials })
        #expect(codes.last == .rateLimited)
        #expect(await guess("alice", from: "203.0.113.1") == .invalidCredentials)
    }

    @Test("an unknown name gets the same answers")
    func unknownName() async throws {
        _ = try await harness.person("alice")
        for name in ["alice", "nobody", "no@example.org", "nul\0"] {
            let codes = await guesses(Self.atOnce + 2, at: name, from: "203.0.113.1")
            #expect(codes.prefix(Self.atOnce).allSatisfy { $0 == .invalidCredentials })
            #expect(codes.suffix(2) == [.rateLimited, .rateLimited])
        }
    }

    @Test("the right password does not count as a guess")
    func rightPassword() async throws {
        _ = try await harness.person("alice")
        for n in 0..<(3 * Self.atOnce) { _ = try await harness.login("alice", from: "203.0.113.\(n)") }
    }

    @Test("guesses that are sent together are counted before they are checked")
    func together() async throws {
        _ = try await harness.person("alice")
        let codes = await withTaskGroup(of: ErrorCode?.self) { group in
            // From as many networks, as the queue has only a few places for each.
            for n in 0..<40 { group.addTask { await guess("alice", from: "10.\(n).0.1") } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .invalidCredentials } == Self.atOnce)
    }

    @Test("records expire: guesses after a time, a person's networks beyond twenty")
    func bounds() async throws {
        let alice = try await harness.person("alice")
        for n in 0..<30 {
            harness.clock.advance(by: .seconds(1))
            _ = try await harness.login("alice", from: "10.0.\(n).1")
        }
        for n in 0..<50 { _ = await guess("nobody\(n)", from: "10.1.\(n).1") }
        harness.clock.advance(by: .seconds(400))
        _ = await guess("last", from: "10.2.0.1")
        let (guesses, networks) = try await harness.accounts.database.read { connection in
            let guesses = try connection.first("SELECT count(*) FROM guesses") { $0.int(0) }
            let networks = try connection.all(
                "SELECT network FROM known_networks WHERE person_id = $1 ORDER BY used_at", alice.person.id
            ) { $0.text(0) }
            return (guesses, networks)
        }
        #expect(guesses == 1)
        #expect(networks == (10..<30).map { "10.0.\($0).1/32" })
    }

    @Test("two instances on one database count together")
    func instances() async throws {
        _ = try await harness.person("alice")
        let other = Accounts(
            database: harness.accounts.database, passwords: harness.accounts.passwords, tokens: harness.accounts.tokens,
            ids: harness.accounts.ids, clock: harness.clock, randomness: harness.accounts.randomness,
            openness: Openness(), roommates: harness.roommates)
        _ = await guesses(Self.atOnce, at: "alice", from: "203.0.113.1")
        let fields = try RequestFields.writing {
            $0.member("username", "alice")
            $0.member("password", "password")
            $0.member("client", harness.client(at: "203.0.113.9").json)
        }
        #expect(await failure { try await other.login(fields) }?.code == .rateLimited)
    }

    @Test("an old hash is checked at its own cost and replaced at the next sign-in; a wrong password leaves it")
    func raising() async throws {
        let alice = try await harness.person("alice")
        let dear = try AccountsHarness(cost: .dearerForTests)
        let database = harness.accounts.database
        func hash() async throws -> String? {
            try await database.read { try PeopleStore($0).credentials(of: alice.person.id)?.passwordHash }
        }
        let raised = Accounts(
            database: database, passwords: dear.accounts.passwords, tokens: harness.accounts.tokens,
            ids: harness.accounts.ids, clock: harness.clock, randomness: harness.accounts.randomness,
            openness: Openness(), roommates: harness.roommates)
        func login(_ password: String) async throws -> Reply {
            try await raised.login(
                try RequestFields.writing {
                    $0.member("username", "alice")
                    $0.member("password", password)
                })
        }
        let before = try #require(try await hash())
        #expect(await failure { try await login("passwore") }?.code == .invalidCredentials)
        #expect(try await hash() == before)
        _ = try await login("password")
        let after = try #require(try await hash())
        #expect(PasswordHash(after)?.isCheaper(than: .dearerForTests) == false)
        _ = try await login("password")
        #expect(try await hash() == after)
    }

    /// Holds the first salt back until the second is requested: two hashes are then being replaced
    /// at once.
    private final class TwoAtOnce: Randomness {
        private let count = Mutex(0)
        private let second = BlockingQueue<Void>(maxCount: 1, maxBytes: .max)

        func bytes(_ count: Int) -> [UInt8] {
            let number = self.count.withLock { number in
                number += 1
                return number
            }
            if number == 1 {
                _ = second.take(atMost: 1)
            } else {
                try? second.push((), bytes: 0)  // full: the first has gone on
            }
            return [UInt8](repeating: UInt8(number), count: count)
        }
    }

    @Test("two sign-ins that replace an old hash at once both succeed")
    func raisingAtOnce() async throws {
        _ = try await harness.person("alice")
        let passwords = PasswordChecker(
            WorkerPool(threads: 2, maxWaiting: 64), cost: .dearerForTests, randomness: TwoAtOnce())
        let accounts = Accounts(
            database: harness.accounts.database, passwords: passwords, tokens: harness.accounts.tokens,
            ids: harness.accounts.ids, clock: harness.clock, randomness: harness.accounts.randomness,
            openness: Openness(), roommates: harness.roommates)
        try await withThrowingTaskGroup(of: Reply.self) { group in
            for address in ["10.0.0.1", "203.0.113.1"] {
                let fields = try RequestFields.writing {
                    $0.member("username", "alice")
                    $0.member("password", "password")
                    $0.member("client", harness.client(at: address).json)
                }
                group.addTask { try await accounts.login(fields) }
            }
            for try await reply in group { #expect(reply.status == .ok) }
        }
    }

    /// Makes salts only after a moment has passed.
    private struct LateRandomness: Randomness {
        let moment: ContinuousClock.Instant

        func bytes(_ count: Int) -> [UInt8] {
            while ContinuousClock.now <= moment { sched_yield() }
            return [UInt8](repeating: 1, count: count)
        }
    }

    @Test("a password whose hash comes too late is not changed, because the person was told so")
    func lateChange() async throws {
        let alice = try await harness.person("alice")
        let deadline = ContinuousClock.now + .milliseconds(20)
        let accounts = Accounts(
            database: harness.accounts.database,
            passwords: PasswordChecker(
                WorkerPool(threads: 2, maxWaiting: 64), cost: .forTests, randomness: LateRandomness(moment: deadline)),
            tokens: harness.accounts.tokens, ids: harness.accounts.ids, clock: harness.clock,
            randomness: harness.accounts.randomness, openness: Openness(), roommates: harness.roommates)
        let fields = try harness.fields(of: alice) {
            $0.member("currentPassword", "password")
            $0.member("newPassword", "another password")
        }
        let error = await failure { try await accounts.changePassword(fields, alice.caller, by: deadline) }
        #expect(error?.code == .serviceUnavailable)
        _ = try await harness.login("alice")
    }

    @Test("an address over its limit is refused at once, with the time to wait")
    func share() async throws {
        let workers = WorkerPool(threads: 2, maxWaiting: 64)
        let gate = BlockingQueue<Void>(maxCount: 8, maxBytes: .max)
        let passwords = PasswordChecker(workers, cost: .forTests, randomness: SeededRandomness(seed: 1))
        let attacker = SigningClient(harness.client(at: "10.0.0.1"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Both threads are blocked; no other work is on them.
            for _ in 0..<2 { group.addTask { try await workers.run { _ = gate.take(atMost: 1) } } }
            for _ in 0..<40 {
                group.addTask {
                    let error = await failure { try await passwords.check("x", against: nil, for: attacker, by: nil) }
                    #expect(error == nil || (error?.code == .rateLimited && error?.retryAfter == 3))
                }
            }
            while true {
                do throws(ServiceError) { try passwords.admit(attacker) } catch { break }
                await Task.yield()
            }
            try passwords.admit(SigningClient(harness.client(at: "10.0.1.1")))
            for _ in 0..<2 { try gate.push((), bytes: 0) }
            try await group.waitForAll()
        }
        await workers.close()
    }
}

extension PasswordHash.Cost {
    fileprivate static let dearerForTests = PasswordHash.Cost.forTests.times(3)
}

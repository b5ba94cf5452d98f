import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@Suite("SessionTokens")
struct SessionTokensTests {
    private let clock = TestClock()

    private func session(_ token: String, for seconds: TimeInterval, of userID: String = "u1") -> Session {
        Session(
            token: token, expiresAt: clock.now + seconds, refreshToken: "r-" + token,
            user: Person(id: userID, username: "ada"))
    }

    private func answer(
        _ token: String, until end: String = "2030-01-01T00:00:00Z", gate: Gate? = nil
    ) -> ScriptedHTTP.Step {
        .answer(
            "POST /api/auth/refresh",
            """
            {"data":{"token":"\(token)","expiresAt":"\(end)","refreshToken":"r-\(token)",
             "user":{"id":"u1","username":"ada"}}}
            """, gate: gate)
    }

    private func tokens(_ session: Session?, _ steps: [ScriptedHTTP.Step]) throws -> (
        SessionTokens, AsyncStream<String?>.Iterator, ScriptedHTTP
    ) {
        let server = ScriptedHTTP(steps)
        // The buffer is unbounded, because a test sends only a few values.
        let (received, continuation) = AsyncStream.makeStream(of: String?.self, bufferingPolicy: .unbounded)
        let store = MemorySessionStore(session) {
            // A session with an attempt id is the one before, at the beginning of its refresh.
            if $0?.refreshAttemptID == nil { continuation.yield($0?.token) }
        }
        let tokens = try SessionTokens(
            keptIn: store, accounts: AccountsAPI(transport: server), clock: clock, makeAttemptID: { "attempt" })
        return (tokens, received.makeAsyncIterator(), server)
    }

    @Test("a valid token is returned as it is")
    func lives() async throws {
        let (tokens, _, _) = try tokens(session("a", for: 3600), [])
        #expect(try await tokens.token() == "a")
        #expect(try await tokens.token(replacing: "an older one") == "a")
    }

    @Test("a token that expires within a minute is renewed, and the new session is reported")
    func renews() async throws {
        var (tokens, received, server) = try tokens(session("a", for: 59), [answer("b")])
        #expect(try await tokens.token() == "b")
        #expect(await received.next() == "b")
        #expect(await server.requests.first?.body == Data(#"{"attemptId":"attempt","refreshToken":"r-a"}"#.utf8))
        #expect(await tokens.session?.refreshToken == "r-b")
    }

    @Test("concurrent calls share one refresh")
    func singleFlight() async throws {
        let gate = Gate()
        let (tokens, _, server) = try tokens(session("a", for: 3600), [answer("b", gate: gate)])
        let first = Task { try await tokens.token(replacing: "a") }
        await gate.isReached()
        let others = (0..<5).map { _ in Task { try await tokens.token(replacing: "a") } }
        await gate.open()
        for one in [first] + others { #expect(try await one.value == "b") }
        #expect(await server.requests.count == 1)
    }

    @Test("a cancelled caller stops waiting, but the refresh continues, because its token works once")
    func cancelling() async throws {
        let gate = Gate()
        var (tokens, received, _) = try tokens(session("a", for: 3600), [answer("b", gate: gate)])
        let waiter = Task { try await tokens.token(replacing: "a") }
        await gate.isReached()
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        await gate.open()
        #expect(await received.next() == "b")
        #expect(try await tokens.token() == "b")
    }

    @Test("a refused refresh ends the session, and reports that")
    func refused() async throws {
        var (tokens, received, _) = try tokens(
            session("a", for: 3600), [.refusal("POST /api/auth/refresh", 401, "invalid_token")])
        await #expect(throws: ClientFailure.signedOut) { try await tokens.token(replacing: "a") }
        #expect(await received.next() == .some(nil))
        await #expect(throws: ClientFailure.signedOut) { try await tokens.token() }
    }

    @Test(
        "no other refusal ends the session: a proxy may have sent it",
        arguments: [
            (401, "unauthenticated"), (400, "malformed_request"), (403, "forbidden"), (404, "not_found"),
            (422, "invalid_field"),
        ])
    func refusedByAnother(status: Int, code: String) async throws {
        let (tokens, _, _) = try tokens(
            session("a", for: 3600), [.refusal("POST /api/auth/refresh", status, code), answer("b")])
        await #expect(throws: ClientFailure.self) { try await tokens.token(replacing: "a") }
        #expect(try await tokens.token(replacing: "a") == "b")
    }

    @Test("without a network, the token is returned until it expires, and not after")
    func offline() async throws {
        let (living, _, _) = try tokens(session("a", for: 30), [.offline("POST /api/auth/refresh")])
        #expect(try await living.token() == "a")
        let (dead, _, _) = try tokens(
            session("a", for: -1), [.offline("POST /api/auth/refresh"), answer("b")])
        await #expect(throws: ClientFailure.offline("no network")) { try await dead.token() }
        #expect(try await dead.token() == "b")
    }

    /// Signs in during a refresh, which ends after that.
    ///
    /// - Returns: the tokens, and the caller that waits for the refresh.
    private func signInMeanwhile(_ session: Session) async throws -> (SessionTokens, Task<String, any Error>) {
        let gate = Gate()
        let (tokens, _, _) = try tokens(self.session("a", for: 3600), [answer("b", gate: gate)])
        let waiter = Task { try await tokens.token(replacing: "a") }
        await gate.isReached()
        await tokens.use(session)
        await gate.open()
        return (tokens, waiter)
    }

    @Test("a refresh that ends after another person has signed in has no effect")
    func replaced() async throws {
        let (tokens, waiter) = try await signInMeanwhile(session("c", for: 3600, of: "u2"))
        await #expect(throws: ClientFailure.signedOut) { try await waiter.value }
        #expect(try await tokens.token() == "c")
    }

    @Test("a refresh that ends after the same person has signed in again returns the new session's token")
    func signedInAgain() async throws {
        let (_, waiter) = try await signInMeanwhile(session("c", for: 3600))
        #expect(try await waiter.value == "c")
    }

    @Test("a token that lives only seconds is not renewed at every call")
    func shortLife() async throws {
        let (tokens, _, _) = try tokens(nil, [])
        await tokens.use(session("a", for: 10))
        #expect(try await tokens.token() == "a")
    }

    @Test("if the clock is ahead, a new token that seems expired is used until the server refuses it")
    func clockAhead() async throws {
        let past = "2020-01-01T00:00:00Z"
        let (tokens, _, server) = try tokens(
            session("a", for: -1), [answer("b", until: past), answer("c", until: past)])
        for _ in 0..<3 { #expect(try await tokens.token() == "b") }
        #expect(try await tokens.token(replacing: "b") == "c")
        #expect(try await tokens.token() == "c")
        #expect(await server.missing.isEmpty)
    }

    @Test(
        "a refusal by a proxy, or one for another reason, does not end the session",
        arguments: [
            ScriptedHTTP.Step.answer("POST /api/auth/refresh", "<html>", status: 403),
            .answer("POST /api/auth/refresh", "<html>", status: 401),
            .answer("POST /api/auth/refresh", "<html>", status: 200),
            .refusal("POST /api/auth/refresh", 404, "route_not_found"),
            // The answer to a suspended person. A suspension may end.
            .refusal("POST /api/auth/refresh", 403, "forbidden"),
        ])
    func foreign(step: ScriptedHTTP.Step) async throws {
        let (tokens, _, _) = try tokens(session("a", for: -1), [step, answer("b")])
        let failure = await #expect(throws: ClientFailure.self) { try await tokens.token() }
        #expect(failure != .signedOut)
        #expect(try await tokens.token() == "b")
    }
}

import ParlorContracts
import Testing

@testable import ParlorGatewayEdge

@Suite("Ended sessions", .timeLimit(.minutes(1)))
struct EndedSessionsTests {
    private static let ada = Caller(id: "ada", username: "ada", firstName: nil)
    private static let start = Timestamp(milliseconds: 1_700_000_000_000)

    private func claims(_ session: String?, issued seconds: Int = 0) -> AccessClaims {
        AccessClaims(
            caller: Self.ada, sessionID: session,
            issuedAt: Self.start.milliseconds / 1000 + seconds, expiresAt: .max)
    }

    private func note(_ ids: [String], in ended: EndedSessions, at seconds: Int, until: Int = 3600) {
        let at = Self.start.adding(.seconds(seconds))
        ended.note(
            SessionsEnded(sessionIDs: ids, tokensUntil: Self.start.adding(.seconds(until))), at: at, now: at)
    }

    @Test("tokens of an ended session are refused; others, and those without a session, are not")
    func refusal() {
        let ended = EndedSessions()
        note(["a", "b"], in: ended, at: 1)
        for id in ["a", "b"] { #expect(ended.refuses(claims(id))) }
        for id in ["c", nil] { #expect(!ended.refuses(claims(id))) }
    }

    @Test("ended sessions are forgotten when no token of theirs can be valid any more")
    func forgetting() {
        let ended = EndedSessions()
        for n in 0..<100 { note(["\(n)"], in: ended, at: n, until: 200 + n) }
        #expect(ended.count == 100)
        note([], in: ended, at: 250, until: 300)
        #expect(ended.count == 49)
        note(["late"], in: ended, at: 400, until: 400)
        #expect(ended.count == 0)
    }

    @Test("over the limit, older tokens have to be refreshed, and no ended session gets in")
    func bound() {
        let ended = EndedSessions(capacity: 10)
        for n in 0..<30 { note(["\(n)"], in: ended, at: n) }
        #expect(ended.count == 10)
        for n in 0..<30 { #expect(ended.refuses(claims("\(n)", issued: 0))) }
        // The twenty that are forgotten ended until second 19.
        #expect(ended.refuses(claims("innocent", issued: 19)))
        #expect(!ended.refuses(claims("innocent", issued: 20)))
        #expect(!ended.refuses(claims(nil, issued: 0)))
    }

    @Test("a session that is recorded again counts once")
    func again() {
        let ended = EndedSessions(capacity: 10)
        for _ in 0..<30 { note(["a"], in: ended, at: 1) }
        #expect(ended.count == 1)
        #expect(!ended.refuses(claims("b")))
    }
}

import ParlorContracts
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import ParlorTestSupport
import Testing

@testable import ParlorGatewayEdge

@Suite("Access tokens", .timeLimit(.minutes(1)))
struct TokenVerifierTests {
    private static let ada = Caller(id: "ada", username: "ada", firstName: nil)
    private static let bob = Caller(id: "bob", username: "bob", firstName: nil)
    private static let key = JSONWebKey.hs256(secret: Array("a secret of thirty-two characters".utf8))

    private let clock = ManualClock()
    private let ended = EndedSessions()
    private let verifier: TokenVerifier

    init() {
        verifier = TokenVerifier(keys: JSONWebKeySet([Self.key]), clock: clock, ended: ended)
        ended.becomeKnown()
    }

    private func token(session: String? = "s", lifetime: Duration = .seconds(60)) -> String {
        let now = clock.now()
        let claims = AccessClaims(
            caller: Self.ada, sessionID: session, expiresAt: now.adding(lifetime).milliseconds / 1000)
        return JSONWebToken.sign(claims.json(issuedAt: now.milliseconds / 1000), with: Self.key)
    }

    private func caller(_ field: String) -> Caller? { verifier.verify(authorization: field)?.caller }

    @Test("a token is valid as often as it is sent, with the scheme in any case")
    func again() {
        let token = token()
        for field in ["Bearer \(token)", "Bearer \(token)", "bEARER \(token)"] {
            #expect(caller(field) == Self.ada)
        }
        #expect(caller("Basic \(token)") == nil)
        #expect(caller(token) == nil)
    }

    @Test("a cached token is refused from the second of its expiry on")
    func expiry() {
        let field = "Bearer \(token(lifetime: .seconds(2)))"
        #expect(caller(field) != nil)
        clock.advance(by: .seconds(1))
        #expect(caller(field) != nil)
        clock.advance(by: .seconds(1))
        for _ in 1...2 { #expect(caller(field) == nil) }
    }

    @Test("a cached token is refused once its session has ended")
    func endedSession() {
        let (first, other) = ("Bearer \(token(session: "a"))", "Bearer \(token(session: "b"))")
        for field in [first, other] { #expect(caller(field) != nil) }
        ended.note(
            SessionsEnded(sessionIDs: ["a"], tokensUntil: clock.now().adding(.seconds(60))), at: clock.now(),
            now: clock.now())
        #expect(caller(first) == nil)
        #expect(caller(other) != nil)
    }

    @Test("a cached token makes no other one valid")
    func forged() {
        let good = token()
        #expect(caller("Bearer \(good)") != nil)
        let parts = good.split(separator: ".").map(String.init)
        let claims = JSONWebToken.sign(
            AccessClaims(caller: Self.bob, sessionID: "s", expiresAt: .max).json(issuedAt: 0),
            with: .hs256(secret: Array("another secret of forty characters or so".utf8)))
        let others = claims.split(separator: ".").map(String.init)
        for forged in [
            [parts[0], others[1], parts[2]], [parts[0], parts[1], others[2]], others, [parts[0], parts[1], ""],
        ] {
            for _ in 1...2 { #expect(caller("Bearer \(forged.joined(separator: "."))") == nil) }
        }
    }

    @Test("a token longer than those that are cached is valid, too")
    func long() {
        let claims = AccessClaims(
            caller: Caller(id: "ada", username: String(repeating: "a", count: 2000), firstName: nil),
            expiresAt: clock.now().adding(.seconds(60)).milliseconds / 1000)
        let field = "Bearer \(JSONWebToken.sign(claims.json(issuedAt: 0), with: Self.key))"
        for _ in 1...2 { #expect(caller(field)?.id == "ada") }
    }
}

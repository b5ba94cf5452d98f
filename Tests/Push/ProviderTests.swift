import Contracts
import JSON
import Security
import ServiceKit
import Testing
import WebClient

@testable import Push

@Suite("What providers make of answers")
struct ProviderTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    private func outcome(_ status: Int, _ body: String, retryAfter: Duration? = nil) -> PushOutcome {
        APNsAnswer(
            WebResponse(
                status: status, body: Array(body.utf8), headers: [:], httpVersion: 2, retryAfter: retryAfter)
        ).outcome(at: now)
    }

    @Test("each of Apple's answers has its consequence")
    func apple() {
        #expect(outcome(200, "") == .delivered)
        #expect(
            outcome(410, #"{"reason":"Unregistered","timestamp":1600000000000}"#)
                == .gone(since: Timestamp(milliseconds: 1_600_000_000_000), reason: "Unregistered"))
        #expect(outcome(400, #"{"reason":"BadDeviceToken"}"#) == .badToken(reason: "BadDeviceToken"))
        #expect(outcome(400, #"{"reason":"TopicDisallowed"}"#) == .misconfigured(reason: "TopicDisallowed"))
        #expect(outcome(403, #"{"reason":"InvalidProviderToken"}"#) == .misconfigured(reason: "InvalidProviderToken"))
        #expect(outcome(413, #"{"reason":"PayloadTooLarge"}"#) == .refused(reason: "PayloadTooLarge"))
        #expect(
            outcome(429, #"{"reason":"TooManyRequests"}"#, retryAfter: .seconds(7))
                == .later(reason: "TooManyRequests", after: .seconds(7), isAnswer: true))
        #expect(
            outcome(503, #"{"reason":"ServiceUnavailable"}"#)
                == .later(reason: "ServiceUnavailable", after: nil, isAnswer: true))
        #expect(
            outcome(400, #"{"reason":"IdleTimeout"}"#) == .later(reason: "IdleTimeout", after: nil, isAnswer: true))
    }

    @Test("what is none of Apple's answers is no new word in metrics, and ends nothing")
    func strange() {
        for body in ["", "<html>", "[]", #"{"reason":5}"#, #"{"reason":"NewOne"}"#] {
            #expect(outcome(400, body) == .refused(reason: "other"))
            #expect(outcome(403, body) == .misconfigured(reason: "other"))
            #expect(outcome(502, body) == .later(reason: "other", after: nil, isAnswer: true))
            #expect(outcome(410, body) == .gone(since: now, reason: "other"))
        }
    }

    @Test("a token is made once in 50 minutes, and once more if Apple takes it for expired")
    func tokens() throws {
        let clock = ManualClock()
        let metrics = Metrics()
        let tokens = ProviderTokens(
            key: try ES256Key(pem: Array(ES256KeyText.pem.utf8)), keyID: "KEY", teamID: "TEAM", clock: clock,
            metrics: metrics)
        let first = tokens.token()
        clock.advance(by: .seconds(50 * 60 - 1))
        #expect(tokens.token() == first)
        clock.advance(by: .seconds(1))
        let second = tokens.token()
        #expect(second != first && !second.isReplacement)
        let third = tokens.replacement(for: second)
        #expect(
            third?.isReplacement == true && tokens.replacement(for: second) == third, "of all who come, one makes it")
        #expect(third.map { tokens.replacement(for: $0) } == .some(nil))
        #expect(metrics.text().contains("parlor_push_provider_tokens_total 3\n"))
        let parts = first.text.split(separator: ".").map { Base64URL.decode(String($0)) }
        #expect(parts.first??.elementsEqual(#"{"alg":"ES256","typ":"JWT","kid":"KEY"}"#.utf8) == true)
        #expect(parts[1]?.elementsEqual(#"{"iss":"TEAM","iat":1700000000}"#.utf8) == true && parts[2]?.count == 64)
    }

    @Test("a webhook's signature is over the time and the body")
    func signature() {
        let signature = WebhookProvider.signature(of: Array("{}".utf8), at: now, with: Array("secret".utf8))
        let code = HMACSHA256.authenticate(Array("1700000000.{}".utf8), key: Array("secret".utf8)).hexadecimal
        #expect(signature == "t=1700000000,v1=\(code)" && code.count == 64)
    }

    @Test("a provider that takes nothing is tried with one at a time, and said so once")
    func health() {
        let lines = Lines()
        let health = ProviderHealth(log: Logger("test") { lines.add($0) })
        #expect(health.allowance(of: 100).count == 1, "unknown")
        health.note(.delivered)
        #expect(health.allowance(of: 100).count == 100)
        for _ in 1...100 { health.note(.misconfigured(reason: "BadTopic")) }
        #expect(health.allowance(of: 100).count == 0 && health.allowance(of: 100).pause > .seconds(50))
        health.note(.delivered)
        #expect(health.isPaused, "that one was under way before")
        #expect(lines.count == 1)
    }

    @Test("one that answers nothing any more is tried with one at a time")
    func unanswered() {
        let health = ProviderHealth(log: .silent)
        health.note(.delivered)
        for _ in 1...64 { health.note(.later(reason: "timeout", after: nil, isAnswer: false)) }
        #expect(health.allowance(of: 100).count == 1 && !health.isPaused)
        health.note(.later(reason: "ServiceUnavailable", after: nil, isAnswer: true))
        #expect(health.allowance(of: 100).count == 100)
    }
}

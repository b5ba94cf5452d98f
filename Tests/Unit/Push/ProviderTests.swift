import Glibc
import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import ParlorWebClient
import ParlorWorkers
import Testing

@testable import ParlorPush

@Suite("How providers' answers are handled")
struct ProviderTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    private func outcome(_ status: Int, _ body: String, retryAfter: Duration? = nil) -> PushOutcome {
        APNsResponse(
            WebResponse(
                status: status, body: Array(body.utf8), headers: [:], httpVersion: 2, retryAfter: retryAfter)
        ).outcome(for: now)
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
                == .later(reason: "TooManyRequests", after: .seconds(7), of: .device))
        #expect(
            outcome(429, #"{"reason":"TooManyProviderTokenUpdates"}"#)
                == .later(reason: "TooManyProviderTokenUpdates", of: .everything))
        #expect(
            outcome(503, #"{"reason":"ServiceUnavailable"}"#) == .later(reason: "ServiceUnavailable", of: .everything))
        #expect(
            outcome(500, #"{"reason":"InternalServerError"}"#)
                == .later(reason: "InternalServerError", of: .notification))
        #expect(outcome(400, #"{"reason":"IdleTimeout"}"#) == .later(reason: "IdleTimeout", of: .notification))
    }

    @Test("an unknown answer from Apple adds no metric label, and ends nothing")
    func strange() {
        for body in ["", "<html>", "[]", #"{"reason":5}"#, #"{"reason":"NewOne"}"#] {
            #expect(outcome(400, body) == .refused(reason: "other"))
            #expect(outcome(403, body) == .misconfigured(reason: "other"))
            #expect(outcome(502, body) == .later(reason: "other", of: .notification))
            #expect(outcome(410, body) == .gone(since: now, reason: "other"))
        }
    }

    @Test("a token is made once in 50 minutes, and once more if Apple reports it expired")
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

    @Test("a webhook's signature covers the time and the body")
    func signature() {
        let signature = WebhookProvider.signature(of: Array("{}".utf8), at: now, with: Array("secret".utf8))
        let code = HMACSHA256.authenticate(Array("1700000000.{}".utf8), key: Array("secret".utf8)).hexadecimal
        #expect(signature == "t=1700000000,v1=\(code)" && code.count == 64)
    }

    @Test(
        "a warning is due for a webhook that others can read, and for no other",
        arguments: [
            ("http://push.example/x", true), ("HTTP://push.example", true), ("http://10.0.0.1:80/", true),
            ("http://127.0.0.1.example/", true), ("http://localhost@push.example/", true), ("http://[::2]:1/", true),
            ("http://", true), ("https://push.example/", false), ("http://127.0.0.1:9/", false),
            ("http://127.9.9.9", false),
            ("http://localhost:80/x", false), ("http://me:secret@localhost/", false), ("http://[::1]:9/", false),
        ])
    func clear(url: String, isInTheClear: Bool) {
        #expect(WebhookProvider.isInTheClear(url) == isInTheClear)
    }

    @Test("a webhook's 410 ends the device as it was tried, and its 429 pauses everything")
    func webhook() {
        func outcome(_ status: Int, retryAfter: Duration? = nil) -> PushOutcome {
            WebhookProvider.outcome(
                WebResponse(status: status, body: [], headers: [:], httpVersion: 1, retryAfter: retryAfter), for: now)
        }
        #expect(outcome(204) == .delivered)
        #expect(outcome(410) == .gone(since: now, reason: "status_410"))
        #expect(outcome(429) == .later(reason: "status_429", of: .everything))
        #expect(outcome(500) == .later(reason: "status_5xx", of: .notification))
        #expect(
            outcome(500, retryAfter: .seconds(5)) == .later(reason: "status_5xx", after: .seconds(5), of: .everything))
        #expect(outcome(404) == .misconfigured(reason: "status_4xx") && outcome(400) == .refused(reason: "status_4xx"))
    }

    @Test("a token that cannot be Apple's is not sent")
    func hexadecimal() async throws {
        let key = "/tmp/parlor-\(UUIDv7Generator(randomness: SystemRandomness()).next(at: 0)).p8"
        let file = try #require(fopen(key, "w"))
        fputs(ES256KeyText.pem, file)
        fclose(file)
        defer { unlink(key) }
        let nobody = try ReservedPort()
        let settings = APNsProvider.settings
        let provider = try APNsProvider(
            ServiceContext(
                configuration: try Configuration(
                    settings,
                    arguments: [
                        "--apns-key-file", key, "--apns-key-id", "KEY", "--apns-team-id", "TEAM", "--apns-topic", "app",
                        "--apns-url", "http://127.0.0.1:\(nobody.port)",
                    ]), database: try SQLiteDatabase(.temporary, migrations: []), bus: InProcessBus(),
                workers: WorkerPool(threads: 1, maxWaiting: 1), dataDirectory: "/nonexistent"))
        func send(_ token: String) async throws -> PushOutcome {
            let device = Device(
                token: try DeviceToken(token), userID: "ben", environment: .production, registeredAt: now)
            let job = Job(
                id: "job", token: token, userID: "ben", messageID: "", roomID: "", logSeq: 0, senderName: "",
                sentAt: now, dueAt: now)
            return await provider.send(Notification(badge: 1, job, to: device))
        }
        for token in ["..", "../../x", "0g", "%2e"] {
            #expect(try await send(token) == .refused(reason: "NotHexadecimal"))
        }
        #expect(try await send("0aF9").reason == "connection")
        await provider.stop()
    }

    @Test("a pipe without a reader is given up, and its line is ended before the next; a full disk is reported")
    func lines() throws {
        var ends: [Int32] = [0, 0]
        #expect(Glibc.pipe(&ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        let pipe = LineFile(ends[1], maxWait: .milliseconds(1))
        let first = [UInt8](repeating: UInt8(ascii: "a"), count: 70_000) + [10]
        #expect(pipe.write(first) != nil)
        var read: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        func readAll() {
            while case let count = Glibc.read(ends[0], &piece, piece.count), count > 0 { read += piece.prefix(count) }
        }
        #expect(pipe.write(Array("b\n".utf8)) != nil)
        readAll()
        #expect(pipe.write(Array("b\n".utf8)) == nil)
        readAll()
        #expect(read == first + Array("b\n".utf8))
        for end in ends { close(end) }
        let full = open("/dev/full", O_WRONLY)
        #expect(LineFile(full, maxWait: .milliseconds(1)).write(first) == "No space left on device")
        close(full)
    }
}

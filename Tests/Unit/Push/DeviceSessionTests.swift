import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorPush

/// Answers `accounts.live-sessions`, or as a service in trouble does.
private final class FakeAccounts: Sendable {
    private struct State {
        var live: Set<String> = []
        var asked: [[String]] = []
        var isDown = false
    }

    private let state = Mutex(State())

    init(_ live: String..., on bus: any MessageBus) throws {
        state.withLock { $0.live = Set(live) }
        try bus.respond(to: Subject.liveSessions, queue: "accounts") { [self] request in
            request.reply(answer(request.data))
        }
    }

    var asked: [[String]] { state.withLock { $0.asked } }
    func end(_ session: String) { state.withLock { _ = $0.live.remove(session) } }
    func setDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }

    private func answer(_ data: JSONValue) -> JSONValue {
        state.withLock { state in
            let ids = data["ids"]?.array?.compactMap(\.string) ?? []
            if state.isDown { return ServiceError.unavailable("Accounts").json }
            state.asked.append(ids)
            let live = ids.filter(state.live.contains)
            return Reply(.ok, JSONWriter.value { json in json.array { for id in live { $0.string(id) } } }).json
        }
    }
}

@Suite("Devices of sessions")
struct DeviceSessionTests {
    private func register(
        _ token: String, in session: String?, by person: String = PushHarness.ben, on harness: PushHarness
    )
        async throws
    {
        _ = try await harness.ask("push.register", by: person) {
            $0.member("token", token)
            $0.member("platform", "ios")
            $0.member("environment", "production")
            if let session {
                $0.member(
                    ClientInfo.member,
                    ClientInfo(address: "192.0.2.1", userAgent: "", sessionID: session, isLimited: false).json)
            }
        }
    }

    private func entry(_ sessions: String..., at seq: Int = 1) -> LogEntry {
        let ended = SessionsEnded(sessionIDs: sessions, tokensUntil: Timestamp(milliseconds: 0))
        return LogEntry(
            seq: seq, at: Timestamp(milliseconds: 0), roomID: "", participants: [],
            emissions: [],
            fact: .sessionsEnded(ended))
    }

    @Test(
        "a device is removed with the session that registered it last, and so are its jobs",
        arguments: Engine.lasting)
    func ended(engine: Engine) async throws {
        let folder = TemporaryFolder()
        try await PushHarness.serving(on: try engine.open(PushService.migrations, in: folder)) { harness in
            let accounts = try FakeAccounts("phone", "tablet", "old", on: harness.bus)
            try await harness.follow()
            try await register("moved", in: "old", on: harness)
            for (token, session) in [("moved", "tablet"), ("a", "phone"), ("b", "phone"), ("c", "tablet")] {
                try await register(token, in: session, on: harness)
            }
            try await register("none", in: nil, on: harness)
            try await harness.service.sessions.step()
            #expect(try await harness.devices() == ["a", "b", "c", "moved", "none"])

            _ = harness.send()
            try await harness.follow()
            #expect(try await harness.jobs(for: "a") == 1)
            accounts.end("phone")
            harness.service.sessions.take([entry("phone", "old")])
            try await harness.service.sessions.step()
            #expect(try await harness.devices() == ["c", "moved", "none"])
            #expect(try await harness.jobs(for: "a") == 0)
            #expect(try await harness.jobs(for: "c") == 1)
        }
    }

    @Test("a device is removed if its session ended before it was registered")
    func endedBefore() async throws {
        try await PushHarness.serving { harness in
            let accounts = try FakeAccounts("phone", on: harness.bus)
            try await harness.follow()
            try await harness.service.sessions.step()
            try await register("late", in: "gone", on: harness)
            try await register("good", in: "phone", on: harness)
            try await harness.service.sessions.step()
            #expect(try await harness.devices() == ["good"])
            #expect(accounts.asked == [["gone", "phone"]])
        }
    }

    @Test("what ended while push was down is found at the next start, in pages")
    func sweep() async throws {
        try await PushHarness.serving { harness in
            let accounts = try FakeAccounts("s-0007", on: harness.bus)
            try await harness.follow()
            for number in 0..<1100 {
                let text = String(number)
                let id = "s-" + String(repeating: "0", count: 4 - text.count) + text
                try await register("t-\(number)", in: id, by: "person-\(number)", on: harness)
            }
            let sessions = DeviceSessions(
                database: harness.database, bus: harness.bus, log: .silent)
            #expect(try await sessions.step())
            #expect(accounts.asked.map(\.count) == [500, 500, 100])
            let left = try await harness.database.read { connection in
                try connection.all("SELECT token FROM devices") { $0.text(0) }
            }
            #expect(left == ["t-7"])
            #expect(try await !sessions.step())
        }
    }

    @Test("more ended sessions than may wait are found by a sweep")
    func limit() async throws {
        try await PushHarness.serving { harness in
            let accounts = try FakeAccounts("phone", "tablet", on: harness.bus)
            try await harness.follow()
            for session in ["phone", "tablet"] { try await register(session, in: session, on: harness) }
            #expect(try await harness.service.sessions.step())
            #expect(try await !harness.service.sessions.step())
            accounts.end("phone")
            for number in 0...DeviceSessions.maxWaiting { harness.service.sessions.take([entry("s-\(number)")]) }
            #expect(try await harness.service.sessions.step())
            #expect(try await harness.devices() == ["tablet"])
        }
    }

    @Test("what failed is done again")
    func trouble() async throws {
        try await PushHarness.serving { harness in
            let accounts = try FakeAccounts(on: harness.bus)
            try await harness.follow()
            try await register("t", in: "gone", on: harness)
            accounts.setDown(true)
            await #expect(throws: ServiceError.self) { try await harness.service.sessions.step() }
            #expect(try await harness.devices() == ["t"])
            accounts.setDown(false)
            try await harness.service.sessions.step()
            #expect(try await harness.devices() == [])
        }
    }

    @Test("what was removed before a failure is not removed again with each try")
    func progress() async throws {
        try await PushHarness.serving { harness in
            let accounts = try FakeAccounts("phone", on: harness.bus)
            try await harness.follow()
            accounts.setDown(true)
            try await register("unknown", in: "gone", on: harness)
            harness.service.sessions.take([entry("phone")])
            await #expect(throws: ServiceError.self) { try await harness.service.sessions.step() }
            // Accounts says that its session goes on.
            try await register("new", in: "phone", on: harness)
            accounts.setDown(false)
            try await harness.service.sessions.step()
            #expect(try await harness.devices() == ["new"])
        }
    }
}

import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of what an extension shows for a notification, on a scripted server.
@Suite("NotificationLoader", .timeLimit(.minutes(1)))
struct NotificationLoaderTests {
    private let clock = TestClock()
    private let folder = TemporaryFolder()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let phone: ScriptedDevice
    private let roomID: String
    private let store: FileSessionStore

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada", firstName: "Ada"), server.addPerson("ben"))
        phone = server.makeDevice()
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Kitchen")
        store = FileSessionStore(url: folder.url.appending(path: "sessions.json"))
        try store.save(KeptSessions(current: try server.makeSession(of: ben)))
    }

    private var loader: NotificationLoader {
        get throws {
            NotificationLoader(
                http: phone, sharedIn: store, clock: clock)
        }
    }

    /// Returns the payload for a message from a server that sends no texts.
    private func payload(_ messageID: String, seq: Int? = 1) -> PushedMessage {
        PushedMessage(
            roomID: roomID, messageID: messageID, seq: seq, senderName: "A.", roomName: "Kitchen",
            title: "A. · Kitchen",
            body: "New message", badge: 3)
    }

    private func expectPayload(_ content: NotificationContent, _ code: String) {
        #expect(content.title == "A. · Kitchen" && content.body == "New message" && content.badge == 3)
        guard case .payload(let failure) = content.origin else {
            Issue.record("it comes from \(content.origin)")
            return
        }
        #expect(failure.code == code)
    }

    @Test("it has the whole text, and names as they are now", arguments: [true, false])
    func fetched(hasNumber: Bool) async throws {
        let text = String(repeating: "Tea is ready. ", count: 280).trimmingCharacters(in: .whitespaces)
        for other in ["before", "before that"] { try server.post(other, in: roomID, by: ada.id) }
        let messageID = try server.post(text, in: roomID, by: ada.id)
        try server.post("after", in: roomID, by: ada.id)
        try server.rename(roomID, to: "Pantry", by: ben.id)
        let content = try await loader.content(of: payload(messageID, seq: hasNumber ? 3 : nil))
        #expect(content.title == "Ada · Pantry" && content.body == text)
        #expect(content.badge == 3 && content.threadID == roomID)
        guard case .server(let message, let room) = content.origin else {
            Issue.record("it comes from \(content.origin)")
            return
        }
        #expect(message.id == messageID && message.seq == 3 && room.id == roomID)
        #expect(phone.requests.count == 2)
    }

    @Test("in a room without a name the title is the sender")
    func unnamed() async throws {
        let roomID = try server.makeRoom(by: ada.id, with: ben.id)
        let messageID = try server.post("Hi", in: roomID, by: ada.id)
        let content = try await loader.content(
            of: PushedMessage(roomID: roomID, messageID: messageID, seq: 1, title: "A."))
        #expect(content.title == "Ada" && content.body == "Hi" && content.badge == nil)
    }

    @Test("of a message that was deleted meanwhile it says so, whichever is at its number", arguments: [true, false])
    func deleted(hasNumber: Bool) async throws {
        let messageID = try server.post("Oops", in: roomID, by: ada.id)
        for hasNext in [false, true] {
            if hasNext {
                try server.post("Next", in: roomID, by: ada.id)
            } else {
                try server.deleteMessage(messageID, in: roomID, by: ada.id)
            }
            let content = try await loader.content(of: payload(messageID, seq: hasNumber ? 1 : nil))
            #expect(content.origin == .deleted && content.title == "A. · Kitchen")
        }
    }

    @Test("a message without a number that is not among the newest is not taken for deleted")
    func old() async throws {
        let messageID = try server.post("Old", in: roomID, by: ada.id)
        for number in 0..<50 { try server.post("\(number)", in: roomID, by: ada.id) }
        expectPayload(try await loader.content(of: payload(messageID, seq: nil)), "unreadable")
        #expect(try await loader.content(of: payload(messageID, seq: 1)).body == "Old")
    }

    @Test("without a network, or behind a hotel's page, it is what the payload says")
    func offline() async throws {
        let messageID = try server.post("Hi", in: roomID, by: ada.id)
        phone.setAirplaneMode(true)
        expectPayload(try await loader.content(of: payload(messageID)), "offline")
        phone.setAirplaneMode(false)
        #expect(try await loader.content(of: payload(messageID)).body == "Hi")
        phone.interceptNextRequests(2, with: Data("<html>".utf8))
        expectPayload(try await loader.content(of: payload(messageID)), "offline")
    }

    @Test("what the server refuses is what the payload says")
    func refused() async throws {
        let messageID = try server.post("Hi", in: roomID, by: ada.id)
        server.remove(ben.id, from: roomID)
        expectPayload(try await loader.content(of: payload(messageID)), "room_not_found")
        try store.save(KeptSessions())
        expectPayload(try await loader.content(of: payload(messageID)), "signed_out")
    }

    @Test("answers that come too late are not awaited")
    func late() async throws {
        let messageID = try server.post("Hi", in: roomID, by: ada.id)
        phone.delayAnswers(by: .seconds(6))
        let loading = Task { [loader = try loader] in await loader.content(of: payload(messageID)) }
        await clock.untilSleeping(3)
        await clock.advance(by: .seconds(5))
        expectPayload(await loading.value, "offline")
        #expect(clock.elapsed == .seconds(5))
    }

    @Test("a session that has expired is renewed first, for the app, too")
    func expired() async throws {
        let messageID = try server.post("Hi", in: roomID, by: ada.id)
        let old = try store.load().current
        await clock.advance(by: .seconds(60 * 60))
        #expect(try await loader.content(of: payload(messageID)).body == "Hi")
        #expect(phone.requests.count { $0 == "POST /api/auth/refresh" } == 1)
        let app = try SessionTokens(keptIn: store, accounts: AccountsAPI(transport: phone), clock: clock)
        let token = try await app.token()
        #expect(token != old?.token)
        #expect(server.sessionCount(of: ben.id) == 1)
    }

    @Test("a refresh that takes longer than the limit is awaited, so that its session is not lost")
    func slowRefresh() async throws {
        let messageID = try server.post("Hi", in: roomID, by: ada.id)
        await clock.advance(by: .seconds(60 * 60))
        phone.delayAnswers(by: .seconds(8))
        let isDone = Guarded(false)
        let loading = Task { [loader = try loader] in
            let content = await loader.content(of: payload(messageID))
            isDone.withLock { $0 = true }
            return content
        }
        await clock.untilSleeping(for: .seconds(8))
        await clock.advance(by: .seconds(5))
        // The refresh has a time limit of its own.
        await clock.untilSleeping(for: .seconds(20))
        #expect(!isDone.withLock { $0 })
        await clock.advance(by: .seconds(3))
        expectPayload(await loading.value, "offline")
        let session = try #require(try store.load().current)
        #expect(session.refreshAttemptID == nil && session.expiresAt > clock.now)
    }
}

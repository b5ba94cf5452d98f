import Contracts
import JSON
import Security
import ServiceKit
import Testing
import WebClient

@testable import Push

@Suite("Notifications")
struct NotificationTests {
    private let device = Device(
        token: DeviceToken(stored: "ab12"), userID: "ben", environment: .production,
        registeredAt: Timestamp(milliseconds: 0))

    private func job(sender: String = "Ada") -> Job {
        Job(
            id: "0190a0b0-0000-7000-8000-000000000000", token: "ab12", userID: "ben", messageID: "message",
            roomID: "room", logSeq: 1, senderName: sender, sentAt: Timestamp(milliseconds: 1_700_000_000_000),
            dueAt: Timestamp(milliseconds: 0))
    }

    @Test("the payload has all that a phone needs to show it and to open the right room")
    func payload() {
        let made = Notification(job(), to: device, roomName: "Kitchen", text: "Tea is ready", badge: 7)
        #expect(
            made.payload.text == """
                {"aps":{"alert":{"title":"Ada · Kitchen","body":"Tea is ready"},"badge":7,"sound":"default",\
                "thread-id":"room"},"type":"message","roomId":"room","messageId":"message"}
                """)
        #expect(made.expiresAt.iso == "2023-11-15T22:13:20.000Z" && made.collapseID == "message")
        let unnamed = Notification(job(), to: device, roomName: nil, text: "x", badge: 1)
        #expect(unnamed.payload["aps"]?["alert"]?["title"]?.string == "Ada")
    }

    @Test(
        "a text is cut between whole characters, and no more than necessary",
        arguments: ["x", "é", "👩‍👩‍👧‍👦", "\"", "\n", "\u{1}", "a\u{301}\u{302}"])
    func cut(character: String) throws {
        for count in [3000, 4000] {
            let text = String(repeating: character, count: count)
            let made = Notification(job(), to: device, roomName: "Kitchen", text: text, badge: 7)
            #expect(made.payload.bytes.count <= Notification.maxPayload)
            let body = try #require(made.payload["aps"]?["alert"]?["body"]?.string)
            if body == text { continue }
            let kept = body.dropLast()
            #expect(body.last == "…" && kept.allSatisfy { String($0) == character })
            let size = JSONValue(character).bytes.count - 2
            #expect(made.payload.bytes.count > Notification.maxPayload - size)
        }
    }

    @Test("a text that fits to the byte stays whole")
    func fits() {
        let around = Notification(job(), to: device, roomName: nil, text: "", badge: 1).payload.bytes.count
        for extra in [0, 1] {
            let text = String(repeating: "x", count: Notification.maxPayload - around + extra)
            let made = Notification(job(), to: device, roomName: nil, text: text, badge: 1)
            #expect((made.payload["aps"]?["alert"]?["body"]?.string == text) == (extra == 0))
        }
    }

    @Test("retries come later each time, with jitter, and no sooner than the server asks")
    func retryPolicy() {
        func seconds(_ attempts: Int, _ chance: Double, asked: Duration? = nil) -> Double {
            Double(RetryPolicy.delay(after: attempts, asked: asked, chance: chance).milliseconds) / 1000
        }
        #expect([0, 1, 2, 8, 9, 60].map { seconds($0, 1) } == [1, 2, 4, 256, 300, 300])
        #expect([0, 1, 2, 60].map { seconds($0, 0) } == [0.5, 1, 2, 150])
        #expect(seconds(0, 0, asked: .seconds(7)) == 7.5 && seconds(60, 1, asked: .seconds(7)) == 307)
        #expect(seconds(0, 1, asked: .seconds(1_000_000)) == 3601)
    }
}

@Suite("Recipients of a notification")
struct JudgementTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    private func judge(
        isUnread: Bool = true, sentAgo: Duration = .seconds(3), _ sockets: (age: Int, confirmed: Int)...
    ) -> DeliveryDecision {
        let job = Job(
            id: "id", token: "t", userID: "ben", messageID: "message", roomID: "room", logSeq: 100, senderName: "Ada",
            sentAt: now.adding(.zero - sentAgo), dueAt: now)
        return .of(
            job, isUnread: isUnread, sockets: sockets.map { SocketEvidence(age: $0.age, confirmed: $0.confirmed) },
            at: now)
    }

    @Test("a person is notified who has it unread, and the room open nowhere")
    func closed() {
        #expect(judge() == .send)
        #expect(judge(isUnread: false) == .drop(.unneeded))
        #expect(judge(sentAgo: .seconds(86_401)) == .drop(.expired))
    }

    @Test("a person who answered a ping within 30 s, after the message, has it")
    func confirmed() {
        #expect(judge((age: 30_000, confirmed: 100)) == .drop(.open))
        #expect(judge((age: 30_001, confirmed: 100)) == .send)
    }

    @Test("a person last seen within 30 s, but before the message, is watched")
    func watched() {
        #expect(judge((age: 0, confirmed: 99)) == .watch)
        #expect(judge((age: 30_001, confirmed: 99)) == .send)
        #expect(judge((age: 40_000, confirmed: 0), (age: 10, confirmed: 0)) == .watch)
        #expect(judge((age: 10, confirmed: 0), (age: 10, confirmed: 100)) == .drop(.open), "one device is enough")
        #expect(judge((age: 10, confirmed: 0), (age: 31_000, confirmed: 100)) == .watch)
    }
}

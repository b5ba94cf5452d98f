import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import ParlorWebClient
import Testing

@testable import ParlorPush

/// For files that have Foundation's, too.
typealias PushNotification = Notification

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

    private func make(
        _ text: String = "Tea is ready", sender: String = "Ada", roomName: String? = "Kitchen",
        in form: AlertForm = AlertForm()
    ) -> Notification {
        Notification(
            job(sender: sender), UnreadMessage(text: text, seq: 12, senderID: "ada"), to: device, roomName: roomName,
            badge: 7, in: form)
    }

    @Test("the payload has all that a phone needs to show it, to let an extension fetch it, and to open the right room")
    func payload() {
        let made = make()
        #expect(
            made.payload.text == """
                {"aps":{"alert":{"title":"Ada · Kitchen","body":"Tea is ready"},"badge":7,"sound":"default",\
                "thread-id":"room","category":"message","mutable-content":1},"type":"message","roomId":"room",\
                "messageId":"message","seq":12,"senderId":"ada","senderName":"Ada","roomName":"Kitchen"}
                """)
        #expect(made.expiresAt.iso == "2023-11-15T22:13:20.000Z" && made.collapseID == "message")
    }

    @Test("what is not known is left out of the payload")
    func unknown() {
        let unnamed = make(roomName: nil)
        #expect(unnamed.payload["aps"]?["alert"]?["title"]?.string == "Ada")
        #expect(unnamed.payload["roomName"] == nil)
        // Messaging of an earlier release.
        let made = Notification(job(), UnreadMessage(text: "x"), to: device, roomName: nil, badge: 7)
        #expect(made.payload["seq"] == nil && made.payload["senderId"] == nil)
        #expect(made.payload["senderName"]?.string == "Ada")
    }

    @Test("a category can be another, or none")
    func category() {
        #expect(make(in: AlertForm(category: "chat.v2")).payload["aps"]?["category"]?.string == "chat.v2")
        let without = make(in: AlertForm(category: nil)).payload["aps"]
        #expect(without?["category"] == nil && without?["mutable-content"]?.int == 1)
    }

    @Test("with keys the app words the title, and the body that has no text; a text stays as it is")
    func keys() {
        func alert(_ form: AlertForm, roomName: String? = "Kitchen") -> String? {
            make(roomName: roomName, in: form).payload["aps"]?["alert"]?.text
        }
        #expect(
            alert(AlertForm(usesKeys: true)) == """
                {"title-loc-key":"MESSAGE_FROM_IN_ROOM","title-loc-args":["Ada","Kitchen"],"body":"Tea is ready"}
                """)
        #expect(
            alert(AlertForm(showsText: false, usesKeys: true), roomName: nil) == """
                {"title-loc-key":"MESSAGE_FROM","title-loc-args":["Ada"],"loc-key":"NEW_MESSAGE"}
                """)
        #expect(alert(AlertForm(showsText: false)) == #"{"title":"Ada · Kitchen","body":"New message"}"#)
    }

    @Test(
        "a text is cut between whole characters, and no more than necessary",
        arguments: ["x", "é", "👩‍👩‍👧‍👦", "\"", "\n", "\u{1}", "a\u{301}\u{302}"], [false, true])
    func cut(character: String, usesKeys: Bool) throws {
        for count in [3000, 4000] {
            let text = String(repeating: character, count: count)
            let made = make(text, in: AlertForm(usesKeys: usesKeys))
            #expect(made.payload.bytes.count <= Notification.maxPayload)
            let body = try #require(made.payload["aps"]?["alert"]?["body"]?.string)
            if body == text { continue }
            let kept = body.dropLast()
            #expect(body.last == "…" && kept.allSatisfy { String($0) == character })
            let size = JSONValue(character).bytes.count - 2
            #expect(made.payload.bytes.count > Notification.maxPayload - size)
        }
    }

    @Test(
        "a text that fits to the byte stays whole",
        arguments: ["message", String(repeating: "x", count: 64)] as [String?] + [nil])
    func fits(category: String?) {
        let form = AlertForm(category: category)
        let around = make("", in: form).payload.bytes.count
        for extra in [0, 1] {
            let text = String(repeating: "x", count: Notification.maxPayload - around + extra)
            #expect((make(text, in: form).payload["aps"]?["alert"]?["body"]?.string == text) == (extra == 0))
        }
    }

    @Test("the longest names stay whole, and leave half of the payload to the text", arguments: [false, true])
    func longNames(usesKeys: Bool) throws {
        let (sender, room) = (String(repeating: "𝒜", count: 100), String(repeating: "🫖", count: 100))
        let form = AlertForm(category: String(repeating: "c", count: 64), usesKeys: usesKeys)
        let made = make(String(repeating: "x", count: 4000), sender: sender, roomName: room, in: form)
        #expect(made.payload.bytes.count == Notification.maxPayload)
        #expect(made.payload["senderName"]?.string == sender && made.payload["roomName"]?.string == room)
        let body = try #require(made.payload["aps"]?["alert"]?["body"]?.string)
        #expect(body.count > Notification.maxPayload / 2)
    }

    @Test("names that no service should have are cut, so that the payload is within the limit in any case")
    func endlessNames() {
        let name = String(repeating: "\u{1}", count: 5000)
        for text in ["", String(repeating: "x", count: 4000)] {
            #expect(make(text, sender: name, roomName: name).payload.bytes.count <= Notification.maxPayload)
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

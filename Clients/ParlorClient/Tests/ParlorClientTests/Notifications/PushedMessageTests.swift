import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@Suite("PushedMessage")
struct PushedMessageTests {
    private let payload = """
        {"aps":{"alert":{"title":"Ada · Kitchen","body":"Tea is ready"},"badge":7,"sound":"default",
         "thread-id":"r1","category":"message","mutable-content":1},"type":"message","roomId":"r1","messageId":"m1",
         "seq":12,"senderId":"u1","senderName":"Ada","roomName":"Kitchen"}
        """
    private let message = PushedMessage(
        roomID: "r1", messageID: "m1", seq: 12, senderID: "u1", senderName: "Ada", roomName: "Kitchen",
        title: "Ada · Kitchen", body: "Tea is ready", badge: 7)

    private func read(_ payload: String) -> PushedMessage? { PushedMessage(payload: Data(payload.utf8)) }

    @Test("it has all that a payload says, from JSON and from what the system makes of it")
    func whole() throws {
        #expect(read(payload) == message)
        let userInfo: [AnyHashable: Any] = [
            "aps": ["alert": ["title": "Ada · Kitchen", "body": "Tea is ready"], "badge": 7] as [String: Any],
            "roomId": "r1", "messageId": "m1", "seq": 12, "senderId": "u1", "senderName": "Ada", "roomName": "Kitchen",
        ]
        #expect(PushedMessage(userInfo: userInfo) == message)
        #expect(try JSONDecoder().decode(PushedMessage.self, from: JSONEncoder().encode(message)) == message)
    }

    @Test("a payload of an older server is one with less")
    func older() {
        let payload = """
            {"aps":{"alert":{"title":"Ada","body":"Hi"},"badge":1,"thread-id":"r1"},"type":"message",
             "roomId":"r1","messageId":"m1"}
            """
        #expect(
            read(payload)
                == PushedMessage(roomID: "r1", messageID: "m1", title: "Ada", body: "Hi", badge: 1))
    }

    @Test("where the app words a notification, there are names and no words")
    func keys() {
        let payload = """
            {"aps":{"alert":{"title-loc-key":"MESSAGE_FROM","title-loc-args":["Ada"],"loc-key":"NEW_MESSAGE"},"badge":1},
             "roomId":"r1","messageId":"m1","senderName":"Ada"}
            """
        #expect(read(payload) == PushedMessage(roomID: "r1", messageID: "m1", senderName: "Ada", badge: 1))
    }

    @Test(
        "what is not about a message is none",
        arguments: [
            #"{"aps":{"badge":3}}"#, "", "{", "[]", "null", "7", #""text""#, #"{"roomId":"r1"}"#,
            #"{"messageId":"m1"}"#,
            #"{"roomId":"","messageId":"m1"}"#, #"{"roomId":5,"messageId":"m1"}"#,
            #"{"roomId":["r1"],"messageId":"m1"}"#, #"{"roomId":"r1","messageId":null}"#,
            #"{"type":"call","roomId":"r1","messageId":"m1"}"#,
            String(repeating: "[", count: 100_000), String(repeating: #"{"aps":"#, count: 100_000),
        ])
    func none(payload: String) { #expect(read(payload) == nil) }

    @Test(
        "a member that is not what it should be is missing, and the rest is there",
        arguments: [
            "null", "[]", "{}", "-1", "1.5", "1e400", "99999999999999999999", #""7""#, "[[[[]]]]", #"{"a":{}}"#,
        ])
    func malformed(value: String) {
        let payload = """
            {"aps":\(value),"roomId":"r1","messageId":"m1","seq":\(value),"senderId":["u1"],"senderName":{},
             "roomName":0}
            """
        // JSON allows these numbers, but the platform's parser may refuse them.
        if ["1e400", "99999999999999999999"].contains(value), read(payload) == nil { return }
        #expect(read(payload) == PushedMessage(roomID: "r1", messageID: "m1"))
        let inside = #"{"aps":{"alert":\#(value),"badge":\#(value)},"roomId":"r1","messageId":"m1"}"#
        let body = value == #""7""# ? "7" : nil
        #expect(read(inside) == PushedMessage(roomID: "r1", messageID: "m1", body: body))
    }

    @Test("whatever bytes come, it is a message or none")
    func garbage() {
        var random = SeededGenerator(seed: 7)
        let whole = Array(payload.utf8)
        var messages = 0
        for _ in 0..<2_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                switch Int.random(in: 0..<3, using: &random) {
                case 0 where !bytes.isEmpty:
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                case 1: bytes = Array(bytes.prefix(Int.random(in: 0...whole.count, using: &random)))
                default:
                    bytes.insert(
                        .random(in: 0...255, using: &random), at: Int.random(in: 0...bytes.count, using: &random))
                }
            }
            guard let message = PushedMessage(payload: Data(bytes)) else { continue }
            messages += 1
            #expect(!message.roomID.isEmpty && !message.messageID.isEmpty)
            #expect(message.seq ?? 1 > 0 && message.badge ?? 0 >= 0)
        }
        // Some payloads are still readable and some are not, so both cases were tested.
        #expect(messages > 0 && messages < 2_000)
    }
}

import Foundation
import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorPush

@Suite("docs/push.md")
struct PayloadDocumentTests {
    @Test("its example is what is sent")
    func example() throws {
        let document = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../docs/push.md").standardized
        let text = try String(contentsOf: document, encoding: .utf8)
        let block = try #require(text.split(separator: "```json\n").dropFirst().first?.split(separator: "```").first)
        let example = try JSONValue(parsing: String(block))
        func id(_ name: String) throws -> String { try #require(example[name]?.string) }
        let job = Job(
            id: "job", token: "ab12", userID: "ben", messageID: try id("messageId"), roomID: try id("roomId"),
            logSeq: 1,
            senderName: "Ada", sentAt: Timestamp(milliseconds: 0), dueAt: Timestamp(milliseconds: 0))
        let made = PushNotification(
            job, UnreadMessage(text: "Tea is ready", seq: 12, senderID: try id("senderId")),
            to: Device(
                token: DeviceToken(stored: "ab12"), userID: "ben", environment: .production, registeredAt: job.sentAt),
            roomName: "Kitchen", badge: 7)
        #expect(try decoded(made.payload.text) == decoded(String(block)))
    }

    private func decoded(_ text: String) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
    }
}

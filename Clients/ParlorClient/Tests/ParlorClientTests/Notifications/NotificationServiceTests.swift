import Foundation
import ParlorClient
import Testing

#if canImport(UserNotifications)
    import UserNotifications
#endif

@Suite("The guide's notification extension", .timeLimit(.minutes(1)))
struct NotificationServiceTests {
    @Test("the code of the guide is the code that is compiled here")
    func guide() throws {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        let guide = try String(
            contentsOf: here.appending(path: "../../../Sources/ParlorClient/ParlorClient.docc/Notifications.md"),
            encoding: .utf8)
        let blocks = guide.components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
        let compiled = try String(contentsOf: here.appending(path: "NotificationService.swift"), encoding: .utf8)
        for name in ["func sharedPlace()", "class NotificationService"] {
            let block = try #require(blocks.first { $0.contains(name) })
            // Each block begins with its imports, which are left out here.
            let code = block.split(separator: "\n\n", maxSplits: 1)[1]
            #expect(compiled.contains("\n\n" + code))
        }
    }

    private func shown(_ content: UNNotificationContent) async -> (title: String, body: String, badge: Int?) {
        await withCheckedContinuation { continuation in
            NotificationService().didReceive(UNNotificationRequest(content: content)) {
                continuation.resume(returning: ($0.title, $0.body, $0.badge?.intValue))
            }
        }
    }

    @Test("if nobody is signed in, it shows the payload; another notification stays as it is")
    func offline() async {
        let content = UNMutableNotificationContent()
        content.userInfo = [
            "aps": ["alert": ["title": "Ada · Kitchen", "body": "Tea is ready"], "badge": 7] as [String: Any],
            "roomId": "r1", "messageId": "m1",
        ]
        #expect(await shown(content) == ("Ada · Kitchen", "Tea is ready", 7))
        let other = UNMutableNotificationContent()
        (other.title, other.userInfo) = ("News", ["aps": [:]])
        #expect(await shown(other) == ("News", "", nil))
    }
}

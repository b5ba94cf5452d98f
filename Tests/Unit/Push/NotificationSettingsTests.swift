import ParlorJSON
import Testing

@testable import ParlorPush

@Suite("Settings of notifications", .timeLimit(.minutes(1)))
struct NotificationSettingsTests {
    @Test("settings choose the category, and whether the app words what is shown")
    func settings() async throws {
        try await PushHarness.serving("--push-preview", "off", "--push-category", "off", "--push-loc-keys", "on") {
            let aps = try await aps(from: $0)
            #expect(aps["category"] == nil && aps["alert"]?["loc-key"]?.string == "NEW_MESSAGE")
        }
        try await PushHarness.serving("--push-category", "chat.v2") {
            let aps = try await aps(from: $0)
            #expect(aps["category"]?.string == "chat.v2")
        }
    }

    /// Returns what the notification of one message has for Apple.
    private func aps(from harness: PushHarness) async throws -> JSONValue {
        try await harness.follow()
        _ = try await harness.register("token")
        _ = harness.send()
        try await harness.follow()
        harness.clock.advance(by: .seconds(3))
        try await harness.work()
        return try #require(harness.provider.take().first?.payload["aps"])
    }

    @Test("a category has characters that need no escape, and leaves room for the text")
    func categories() {
        for text in ["off", "message", "chat.v2", "A-b_9", String(repeating: "x", count: 64)] {
            #expect(PushService.category.objection(to: text) == nil)
        }
        for text in ["", " ", "a b", "\"", "é", "a\n", String(repeating: "x", count: 65)] {
            #expect(PushService.category.objection(to: text) != nil)
        }
    }
}

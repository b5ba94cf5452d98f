import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKitTesting
import Testing

@testable import ParlorMessaging

@Suite("The snapshot of messages")
struct SnapshotTests {
    @Test("it has each message of all rooms that was not deleted, once, and says up to which entry")
    func all() async throws {
        try await MessagingHarness.serving { harness in
            let rooms = [harness.rooms.make("room", "alice", "bob"), harness.rooms.make("other", "bob", "carol")]
            var kept: [String] = []
            for number in 0..<75 { kept.append(try await harness.sent("\(number)", by: "bob", in: rooms[number % 2])) }
            _ = try await harness.delete(kept.remove(at: 30), by: "bob", in: rooms[0])
            let (position, pages) = try await Self.snapshot(of: harness)
            #expect(try await position == EventLog(harness.database).position())
            #expect(pages.count == 2)
            let items = pages.flatMap(\.self)
            #expect(items.compactMap { $0["id"]?.string } == kept.sorted())
            let first = try #require(items.first { $0["text"]?.string == "0" })
            #expect(
                first.text == #"{"id":"\#(kept[0])","roomId":"room","seq":1,"senderId":"bob","text":"0","createdAt":"#
                    + "\(harness.clock.now().milliseconds)}")
        }
    }

    @Test("a page of long messages is short enough for the bus")
    func long() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let text = String(repeating: "€", count: 4000)
            for _ in 0..<60 { _ = try await harness.sent(text, by: "alice", in: room) }
            let pages = try await Self.snapshot(of: harness).pages
            #expect(pages.flatMap(\.self).count == 60)
            #expect(pages.allSatisfy { $0.reduce(0) { $0 + $1.bytes.count } < 300 * 1024 })
            #expect(pages.allSatisfy { $0.count > 1 })
        }
    }

    private static func snapshot(
        of harness: MessagingHarness
    ) async throws -> (position: LogPosition, pages: [[JSONValue]]) {
        var pages: [[JSONValue]] = []
        let client = LogClient(harness.bus, requestID: "test", owner: "Messaging")
        let position = try await client.forEachSnapshotPage(of: MessagingService.logID) { pages.append($0.items) }
        return (position, pages)
    }
}

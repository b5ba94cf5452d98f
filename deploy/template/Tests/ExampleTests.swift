import ParlorContracts
import ParlorJSON
import ParlorServiceKitTesting
import Testing

@testable import ParlorExample

/// The service, with a room of Alice and Bob.
private struct ExampleHarness: SuiteHarness {
    let serviceHarness: ServiceHarness<ExampleService>

    static func serving(_ body: (ExampleHarness) async throws -> Void) async throws {
        let harness = ExampleHarness(serviceHarness: try ServiceHarness())
        try harness.bus.serveRooms(["room-1": ["alice", "bob"]])
        try await harness.serviceHarness.run { try await body(harness) }
    }

    func add(_ text: String, by person: String = "alice") async throws -> Reply {
        try await ask("example.add", by: person) {
            $0.member("roomId", "room-1")
            $0.member("text", text)
        }
    }

    func list(after cursor: String? = nil, limit: Int) async throws -> Reply {
        try await ask("example.list", by: "bob") {
            $0.member("roomId", "room-1")
            $0.member("limit", "\(limit)")
            if let cursor { $0.member("cursor", cursor) }
        }
    }
}

@Suite("Items of rooms")
struct ExampleTests {
    @Test("an item is in the list of its room, and the room gets an event with it")
    func adding() async throws {
        try await ExampleHarness.serving { harness in
            let added = try await harness.add(" first ")
            #expect(added.status == .created && added.data["text"]?.string == "first")
            #expect(try await harness.list(limit: 10).data == JSONValue(parsing: "[\(added.data)]"))
            let entry = try #require(harness.takeEntries().first)
            let emission = try #require(entry.emissions.first)
            #expect(emission.audience == .room && emission.event == "example:added")
            #expect(emission.data["item"] == added.data && emission.data["roomId"]?.string == "room-1")
        }
    }

    @Test("a list continues where its page ended")
    func paging() async throws {
        try await ExampleHarness.serving { harness in
            for text in ["one", "two", "three"] { _ = try await harness.add(text) }
            let first = try await harness.list(limit: 2)
            #expect(first.data.array?.map { $0["text"]?.string } == ["one", "two"])
            let rest = try await harness.list(after: try #require(first.page?.string), limit: 2)
            #expect(rest.data.array?.map { $0["text"]?.string } == ["three"] && rest.page == .null)
        }
    }

    @Test("a stranger cannot add, and neither can a text that is empty or too long")
    func refusals() async throws {
        try await ExampleHarness.serving { harness in
            try await harness.expect(.roomNotFound) { try await harness.add("x", by: "carol") }
            for text in ["", " ", String(repeating: "x", count: 201)] {
                try await harness.expect(.invalidField) { try await harness.add(text) }
            }
            #expect(harness.takeEntries().isEmpty)
        }
    }
}

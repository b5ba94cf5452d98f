import ParlorContracts
import ParlorEventLog
import ParlorJSON
import Testing

@testable import ParlorElements

@Suite("The events of a change")
struct EmissionTests {
    /// Performs every change one after the other, and returns each one's events.
    private func everything(_ harness: ElementsHarness) async throws -> [(element: JSONValue, entry: LogEntry)] {
        var done: [(JSONValue, LogEntry)] = []
        func note(_ reply: Reply) throws {
            let entries = harness.takeEntries()
            #expect(entries.count == 1)
            let entry = try #require(entries.first)
            #expect(reply.position == EntryPosition(log: "elements", seq: entry.seq))
            done.append((reply.data, entry))
        }
        let secret = #","content":{"secret":1},"position":{"x":0.987,"y":1},"tempId":"secret""#
        try note(try await harness.ask("elements.create", #"{"type":"note"\#(secret)}"#))
        let id = try #require(done[0].0["id"]?.string)
        try note(
            try await harness.ask(
                "elements.update", by: ElementsHarness.bob, #"{"elementId":"\#(id)","content":{"secret":2}}"#))
        try note(try await harness.ask("elements.create", by: ElementsHarness.bob, #"{"type":"card"}"#))
        try note(try await harness.ask("elements.delete", by: ElementsHarness.bob, #"{"elementId":"\#(id)"}"#))
        try note(try await harness.ask("elements.clear"))
        return done
    }

    @Test("the room gets the element in full, in an entry with its participants")
    func room() async throws {
        try await ElementsHarness.serving { harness in
            let done = try await everything(harness)
            let emitted = done.compactMap(\.entry.emissions.first)
            #expect(emitted.allSatisfy { $0.audience == .room })
            #expect(
                emitted.map(\.event) == [
                    "element:created", "element:updated", "element:created", "element:deleted", "room:cleared",
                ])
            for at in 0..<3 { #expect(emitted[at].data.text == #"{"element":\#(done[at].element.text)}"#) }
            let id = try #require(done[0].element["id"]?.string)
            #expect(emitted[3].data.text == #"{"roomId":"room-1","elementId":"\#(id)","deletedBy":"bob"}"#)
            let other = try #require(done[2].element["id"]?.string)
            #expect(
                done.map(\.entry.fact) == [
                    .elementCreated(id: id), .elementUpdated(id: id), .elementCreated(id: other),
                    .elementDeleted(id: id), .boardCleared,
                ])
            #expect(emitted[4].data.text == #"{"roomId":"room-1","clearedBy":"alice"}"#)
            for (_, entry) in done {
                #expect(entry.roomID == ElementsHarness.room)
                #expect(entry.participants == [ElementsHarness.alice, ElementsHarness.bob])
            }
        }
    }

    @Test("everyone gets ids, times and counts, and nothing else")
    func everyone() async throws {
        try await ElementsHarness.serving { harness in
            let done = try await everything(harness)
            let emitted = done.flatMap(\.entry.emissions).filter { $0.audience == .everyone }
            let id = try #require(done[0].element["id"]?.string)
            let other = try #require(done[2].element["id"]?.string)
            let time = harness.clock.now().isoSeconds
            func expected(_ change: String, _ elementCount: Int, _ rev: Int) -> String {
                #"{"roomId":"room-1",\#(change),"updatedAt":"\#(time)","elementCount":\#(elementCount),"rev":\#(rev)}"#
            }
            #expect(emitted.map(\.event) == done.compactMap(\.entry.emissions.first).map { $0.event + ":global" })
            #expect(
                emitted.map(\.data.text) == [
                    expected(#""elementId":"\#(id)","createdBy":"alice","type":"note""#, 1, 1),
                    expected(#""elementId":"\#(id)","updatedBy":"bob""#, 1, 2),
                    expected(#""elementId":"\#(other)","createdBy":"bob","type":"card""#, 2, 3),
                    expected(#""elementId":"\#(id)","deletedBy":"bob""#, 1, 4),
                    expected(#""clearedBy":"alice""#, 0, 5),
                ])
        }
    }

    @Test("concurrent changes leave no gap in revisions, counts follow, and a recount agrees")
    func underLoad() async throws {
        try await ElementsHarness.serving { harness in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for n in 0..<30 {
                    group.addTask {
                        let person = n % 2 == 0 ? ElementsHarness.alice : ElementsHarness.bob
                        let id = try await harness.create(by: person).text("id")
                        let request = #"{"elementId":"\#(id)","content":{}}"#
                        _ = try await harness.ask("elements.update", by: person, request)
                        if n % 3 == 0 { _ = try await harness.ask("elements.delete", by: person, request) }
                    }
                }
                try await group.waitForAll()
            }
            var count = 0
            var lastRev = 0
            for entry in harness.takeEntries() {
                let global = try #require(entry.emissions.last)
                count += ["element:created:global": 1, "element:deleted:global": -1][global.event] ?? 0
                #expect(global.data["rev"]?.int == lastRev + 1)
                #expect(global.data["elementCount"]?.int == count)
                lastRev += 1
            }
            #expect(lastRev == 70 && count == 20)
            #expect(try await harness.list().count == 20)
            #expect(try await harness.contribution(for: ElementsHarness.alice)?.elementCount == 20)
            #expect(try await harness.badge(of: ElementsHarness.alice) == 15)
        }
    }
}

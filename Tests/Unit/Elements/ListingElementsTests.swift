import ParlorContracts
import ParlorEventLog
import ParlorJSON
import Testing

@testable import ParlorElements

@Suite("Listing elements")
struct ListingElementsTests {
    /// Returns all pages' elements, and the number of pages.
    private func walk(_ harness: ElementsHarness, limit: Int) async throws -> (ids: [String], pages: Int) {
        var ids: [String] = []
        var pages = 0
        var cursor = ""
        repeat {
            let reply = try await harness.ask("elements.list", #"{"limit":"\#(limit)"\#(cursor)}"#)
            let page = try #require(reply.data.array)
            #expect(page.count <= limit)
            ids += page.compactMap { $0["id"]?.string }
            pages += 1
            cursor = reply.page?.string.map { #","cursor":"\#($0)""# } ?? ""
        } while !cursor.isEmpty && pages < 100
        return (ids, pages)
    }

    @Test("the snapshot for other services has the elements of all rooms as they are listed, and the log's position")
    func snapshot() async throws {
        try await ElementsHarness.serving { harness in
            for n in 0..<70 {
                let room = n % 2 == 0 ? ElementsHarness.room : ElementsHarness.otherRoom
                _ = try await harness.create(in: room, #","content":{"n":\#(n)}"#)
            }
            var items: [JSONValue] = []
            let client = LogClient(harness.bus, requestID: "test", owner: "Elements")
            let position = try await client.forEachSnapshotPage(of: ElementsService.logID) { items += $0.items }
            let listed = try await harness.list() + harness.list(in: ElementsHarness.otherRoom)
            func byID(_ elements: [JSONValue]) -> [String] { elements.map(\.text).sorted() }
            #expect(byID(items) == byID(listed) && items.count == 70)
            #expect(try await position == EventLog(harness.database).position())
        }
    }

    @Test("elements are listed oldest first, each on one page, whatever the limit")
    func pages() async throws {
        try await ElementsHarness.serving { harness in
            var made: [String] = []
            for n in 0..<70 {
                let maker = n % 2 == 0 ? ElementsHarness.alice : ElementsHarness.bob
                made.append(try await harness.create(by: maker).text("id"))
            }
            _ = try await harness.create(in: ElementsHarness.otherRoom)
            for (limit, pages) in [(1, 70), (10, 7), (31, 3), (32, 3), (33, 3), (64, 2), (69, 2), (70, 1), (200, 1)] {
                let walked = try await walk(harness, limit: limit)
                #expect(walked.ids == made && walked.pages == pages)
            }
        }
    }

    @Test("pages continue at the same place when elements are deleted and added meanwhile")
    func changesBetweenPages() async throws {
        try await ElementsHarness.serving { harness in
            var made: [String] = []
            for _ in 0..<4 { made.append(try await harness.create().text("id")) }
            let first = try await harness.ask("elements.list", #"{"limit":"2"}"#)
            let cursor = try #require(first.page?.string)
            _ = try await harness.ask("elements.delete", #"{"elementId":"\#(made[1])"}"#)
            made.append(try await harness.create().text("id"))
            let second = try await harness.ask("elements.list", #"{"cursor":"\#(cursor)"}"#)
            #expect(second.data.array?.map { $0["id"]?.string } == [made[2], made[3], made[4]])
            #expect(second.page?.isNull == true)
        }
    }

    @Test("a page of large elements ends before its limit, so that it fits the bus")
    func largeElements() async throws {
        try await ElementsHarness.serving { harness in
            let text = String(repeating: "x", count: 60_000)
            var made: [String] = []
            for _ in 0..<20 { made.append(try await harness.create(#","content":{"text":"\#(text)"}"#).text("id")) }
            let first = try await harness.ask("elements.list")
            #expect(first.json.bytes.count < 600_000 && first.page?.string != nil)
            let walked = try await walk(harness, limit: 200)
            #expect(walked.ids == made && walked.pages == 3)
        }
    }

    @Test("an out-of-range limit is clamped")
    func limits() async throws {
        try await ElementsHarness.serving { harness in
            for _ in 0..<3 { _ = try await harness.create() }
            for (limit, count) in [("0", 1), ("-1000", 1), ("2", 2), ("99999999999999999999", 3)] {
                let reply = try await harness.ask("elements.list", #"{"limit":"\#(limit)"}"#)
                #expect(reply.data.array?.count == count)
            }
        }
    }

    @Test(
        "a cursor that was not issued is malformed",
        arguments: ["!!", "", "-1", "0", "+1", "01", "1.5", #"\u0000"#, "99999999999999999999"])
    func badCursor(cursor: String) async throws {
        try await ElementsHarness.serving { harness in
            let refusal = try await harness.refusal("elements.list", #"{"cursor":"\#(cursor)"}"#)
            #expect(refusal?.code == .malformedRequest)
        }
    }
}

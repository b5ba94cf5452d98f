import ParlorContracts
import ParlorEventLog
import ParlorJSON
import Testing

@testable import ParlorDelivery

@Suite("The replay of missed events")
struct ReplayTests {
    /// Two logs whose entries alternate in time; each has an event for the room, one for everyone and one for Bob.
    private static func entry(
        _ logID: LogID, _ seq: Int, at: Int, room: String = "r", people: [String] = ["ada", "bob"]
    )
        -> Broadcast
    {
        let name = JSONWriter.value { $0.string("\(logID)\(seq)") }
        let emissions = [
            Emission(to: .room, "room", name), Emission(to: .everyone, "all", name),
            Emission(to: .person("bob"), "bob", name),
        ]
        return Broadcast(
            LogEntry(
                seq: seq, at: Timestamp(milliseconds: at), roomID: room, participants: people,
                emissionsJSON: emissions.json), of: logID)
    }

    private static let logs: [LogID: [Broadcast]] = [
        "chat": (1...6).map { entry("chat", $0, at: $0 * 10) },
        "notes": (1...6).map { entry("notes", $0, at: $0 * 10 + 5, room: $0 == 3 ? "other" : "r") },
    ]

    private static func position(_ logID: LogID, _ seq: Int) -> LogPosition {
        guard seq > 0, let entry = logs[logID]?[seq - 1].entry else {
            return LogPosition(databaseID: logID.name, seq: 0, digest: 0)
        }
        return LogPosition(after: entry, in: logID.name)
    }

    private static func cursor(_ chat: Int, _ notes: Int) -> SyncCursor {
        SyncCursor(["chat": position("chat", chat), "notes": position("notes", notes)])
    }

    private static var ends: [LogID: LogPosition] { ["chat": position("chat", 6), "notes": position("notes", 6)] }

    /// Steps until a page is ready; entries arrive in portions.
    private static func page(_ replay: inout Replay, portion: Int = 100) -> Replay.Page {
        while true {
            switch replay.next() {
            case .page(let page): return page
            case .fetch(let logID, let since, let through):
                let all = (logs[logID] ?? []).filter { $0.position.seq > since.seq }
                let given = Array(all.prefix(portion))
                replay.supply(logID, given, through: given.count < all.count ? given.last?.position.seq ?? 0 : through)
            }
        }
    }

    private static func received(_ page: Replay.Page) -> [String] {
        page.events.map { "\($0.item.emission.event) \($0.item.emission.data.string ?? "")" }
    }

    @Test("logs are merged by time, without the events for others or for everyone", arguments: [1, 2, 100])
    func merges(portion: Int) throws {
        var replay = try #require(
            Replay(from: Self.cursor(4, 3), to: Self.ends, for: "ada", limit: 100, maxBytes: .max))
        let page = Self.page(&replay, portion: portion)
        #expect(Self.received(page) == ["room notes4", "room chat5", "room notes5", "room chat6", "room notes6"])
        #expect(!page.isMore)
        #expect(replay.cursor == SyncCursor(Self.ends))
    }

    @Test("pages of any size give the same events, also when one ends within an entry", arguments: 1...25)
    func pages(limit: Int) throws {
        var whole = try #require(
            Replay(from: Self.cursor(0, 0), to: Self.ends, for: "bob", limit: 1000, maxBytes: .max))
        let all = Self.received(Self.page(&whole))
        #expect(all.count == 24)
        var cursor = Self.cursor(0, 0)
        var walked: [String] = []
        var count = 0
        var isMore = true
        while isMore {
            // Each page is a new request, with the cursor of the one before.
            var replay = try #require(Replay(from: cursor, to: Self.ends, for: "bob", limit: limit, maxBytes: .max))
            let page = Self.page(&replay, portion: 2)
            #expect(page.events.count <= limit && !page.events.isEmpty)
            walked += Self.received(page)
            cursor = replay.cursor
            isMore = page.isMore
            count += 1
        }
        #expect(walked == all)
        #expect(count == (24 + limit - 1) / limit, "no page is empty")
        #expect(cursor == SyncCursor(Self.ends))
    }

    @Test("one replay returns page after page")
    func oneReplay() throws {
        var replay = try #require(Replay(from: Self.cursor(0, 0), to: Self.ends, for: "ada", limit: 5, maxBytes: .max))
        let pages = [Self.page(&replay), Self.page(&replay), Self.page(&replay)]
        #expect(pages.map(\.events.count) == [5, 5, 2])
        #expect(pages.map(\.isMore) == [true, true, false])
    }

    @Test("a page ends when it is long enough, however few its events")
    func bytes() throws {
        var replay = try #require(Replay(from: Self.cursor(0, 0), to: Self.ends, for: "ada", limit: 100, maxBytes: 1))
        let page = Self.page(&replay)
        #expect(page.events.count == 1 && page.isMore)
    }

    @Test("a replay of one room has its room events only")
    func oneRoom() throws {
        var replay = try #require(
            Replay(from: Self.cursor(5, 1), to: Self.ends, for: "bob", .room("r"), limit: 100, maxBytes: .max))
        #expect(
            Self.received(Self.page(&replay)) == [
                "room notes2", "room notes4", "room notes5", "room chat6", "room notes6",
            ])
    }

    @Test("of a room that the person came to, the room events from before are replayed; those of other rooms are not")
    func cameLater() throws {
        let entries = [
            Self.entry("chat", 1, at: 0, people: ["bob"]), Self.entry("chat", 2, at: 1, room: "other", people: ["bob"]),
            Self.entry("chat", 3, at: 2, people: ["ada", "bob"]),
        ]
        let ends: [LogID: LogPosition] = [
            "chat": LogPosition(after: entries[2].entry, in: "chat"), "notes": Self.position("notes", 6),
        ]
        var replay = try #require(Replay(from: Self.cursor(0, 6), to: ends, for: "ada", limit: 9, maxBytes: .max))
        guard case .fetch = replay.next() else {
            Issue.record("the entries were not requested")
            return
        }
        replay.supply("chat", entries, ofRooms: ["r"], through: 3)
        guard case .page(let page) = replay.next() else {
            Issue.record("there is no page")
            return
        }
        #expect(Self.received(page) == ["room chat1", "room chat3"])
    }

    @Test("of an entry without a room its person's events are replayed")
    func noRoom() throws {
        let entry = Self.entry("chat", 1, at: 0, room: "", people: ["bob"])
        let end = LogPosition(after: entry.entry, in: "chat")
        var replay = try #require(
            Replay(
                from: Self.cursor(0, 6), to: ["chat": end, "notes": Self.position("notes", 6)], for: "bob", limit: 9,
                maxBytes: .max))
        guard case .fetch = replay.next() else {
            Issue.record("the entry was not requested")
            return
        }
        replay.supply("chat", [entry], through: 1)
        guard case .page(let page) = replay.next() else {
            Issue.record("more was requested")
            return
        }
        #expect(Self.received(page) == ["bob chat1"])
    }

    @Test("entries after the end are left for later")
    func end() throws {
        var replay = try #require(
            Replay(
                from: Self.cursor(4, 6), to: ["chat": Self.position("chat", 5), "notes": Self.position("notes", 6)],
                for: "ada",
                limit: 100, maxBytes: .max))
        #expect(Self.received(Self.page(&replay)) == ["room chat5"])
        #expect(replay.cursor == Self.cursor(5, 6))
    }

    @Test("the log of a service that was added since is replayed from its beginning")
    func added() throws {
        var replay = try #require(
            Replay(
                from: SyncCursor(["chat": Self.position("chat", 5)]), to: Self.ends, for: "ada", limit: 100,
                maxBytes: .max))
        let page = Self.page(&replay)
        let entries = ["notes1", "notes2", "notes3", "notes4", "notes5", "chat6", "notes6"]
        #expect(Self.received(page) == entries.map { "room \($0)" })
        #expect(replay.cursor == SyncCursor(Self.ends))
    }

    @Test("a log that was unknown when the cursor was made has no effect, until it is there")
    func unknown() throws {
        let cursor = SyncCursor(["chat": Self.position("chat", 6)], unknown: ["notes"])
        var replay = try #require(
            Replay(from: cursor, to: cursor.positions, for: "ada", limit: 10, maxBytes: .max))
        #expect(Self.page(&replay).events.isEmpty && replay.cursor == cursor)
        let chat = try #require(
            Replay(from: cursor, to: ["chat": Self.position("chat", 6)], for: "ada", limit: 10, maxBytes: .max))
        #expect(chat.cursor == SyncCursor(["chat": Self.position("chat", 6)]))
        #expect(Replay(from: cursor, to: Self.ends, for: "ada", limit: 10, maxBytes: .max) == nil)
    }

    @Test("a cursor of a removed log, another database, another history or ahead recovers nothing")
    func broken() {
        var foreign = Self.cursor(1, 1)
        foreign.logs["chat"]?.position = LogPosition(
            databaseID: "restored", seq: 1, digest: Self.position("chat", 1).digest)
        var otherPast = Self.cursor(6, 6)
        otherPast.logs["chat"]?.position = LogPosition(databaseID: "chat", seq: 6, digest: 1)
        var ahead = Self.cursor(6, 6)
        ahead.logs["chat"]?.position = LogPosition(databaseID: "chat", seq: 7, digest: 1)
        var more = Self.cursor(1, 1)
        more.logs["polls"] = more.logs["notes"]
        for cursor in [foreign, otherPast, ahead, more] {
            #expect(Replay(from: cursor, to: Self.ends, for: "ada", limit: 10, maxBytes: .max) == nil)
        }
    }
}

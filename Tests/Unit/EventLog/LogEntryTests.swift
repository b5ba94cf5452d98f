import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorStorage
import ParlorTestSupport
import Testing

@Suite("An entry of the event log")
struct LogEntryTests {
    private static let emissions = [
        Emission(to: .room, "a", .emptyObject, endsTypingOf: "u"), Emission(to: .everyone, "b", JSONValue(1)),
        Emission(to: .person("p"), "c", .null, composition: .badges),
    ]
    private static let facts: [Fact?] = [
        nil, .messageSent(id: "m", senderID: "u", senderName: "Zoë \"Z\""), .messagesRead(userID: "u"),
        .messageDeleted(id: "m"), .elementCreated(id: "e"), .elementUpdated(id: "e"), .elementDeleted(id: "e"),
        .boardCleared, .roomCreated, .roomRenamed,
    ]

    private static func entry(_ fact: Fact?) -> LogEntry {
        LogEntry(
            seq: 3, at: Timestamp(milliseconds: 5), roomID: "r", participants: ["x", "y"], emissions: emissions,
            fact: fact, requestID: "q")
    }

    @Test("it decodes from the bus as it was encoded", arguments: facts)
    func wire(fact: Fact?) throws {
        let entry = Self.entry(fact)
        let read = try #require(LogEntry(entry.json))
        #expect(read == entry && read.digest == entry.digest)
        for entry in [entry, read] {
            #expect(entry.fact == fact)
            #expect(entry.emissions.map(\.event) == ["a", "b", "c"])
            #expect(entry.emissions.map(\.audience) == [.room, .everyone, .person("p")])
            #expect(entry.emissions.map(\.data) == [.emptyObject, JSONValue(1), .null])
            #expect(entry.emissions[0].endsTypingOf == "u" && entry.emissions[2].composition == .badges)
        }
        #expect(entry.maxBytes >= entry.json.bytes.count)
    }

    @Test(
        "an emission that cannot be read is found, and the others stay",
        arguments: [
            #"{"to":"rooom","event":"x","data":{}}"#, #"{"to":"person","event":"x","data":{}}"#,
            #"{"to":"room","evnt":"x","data":{}}"#, #"{"to":"room","event":"x"}"#, "5",
        ])
    func mistake(element: String) throws {
        let good = #"{"to":"room","event":"a","data":1}"#
        let emissions = try JSONValue(parsing: "[\(#"{"fact":"newOne"}"#),\(element),\(good),\(element)]")
        let entry = LogEntry(
            seq: 1, at: Timestamp(milliseconds: 5), roomID: "r", participants: [], emissionsJSON: emissions)
        let found = entry.emissionsAndMistake
        #expect(found.emissions.map(\.event) == ["a"] && entry.emissions.map(\.event) == ["a"])
        #expect(found.mistake.map { "\($0)" } == "\(try JSONValue(parsing: element))")
        #expect(Self.entry(.roomCreated).emissionsAndMistake.mistake == nil)
    }

    @Test("its emissions are parsed once")
    func parsedOnce() throws {
        let read = try #require(LogEntry(Self.entry(.roomCreated).json))
        let places = (0..<2).map { _ in read.emissions.withUnsafeBufferPointer { $0.baseAddress } }
        #expect(places[0] == places[1])
    }

    @Test("without its emissions, as its message was deleted, it keeps its fact and its digest", arguments: facts)
    func withoutEmissions(fact: Fact?) async throws {
        let entry = Self.entry(fact)
        let rest = entry.withoutEmissions
        let read = try #require(LogEntry(rest.json))
        #expect(read == rest && read.withoutEmissions == rest)
        for rest in [rest, read] {
            #expect(rest.digest == entry.digest && rest.fact == fact && rest.emissions.isEmpty)
            #expect(LogPosition(after: rest, in: "d") == LogPosition(after: entry, in: "d"))
        }
        #expect(rest.maxBytes >= rest.json.bytes.count)
    }

    @Test("it reads back from the table as it was written", arguments: facts)
    func table(fact: Fact?) async throws {
        let database = try SQLiteDatabase(.temporary, migrations: [])
        try await database.write { connection in
            _ = try EventLog.append(
                at: Timestamp(milliseconds: 5), roomID: "r", participants: ["x", "y"], emissions: Self.emissions,
                fact: fact, requestID: "q", on: connection)
        }
        let stored = try #require(await EventLog(database).entries(since: 0, limit: 1).first)
        #expect(stored.emissionsJSON == Self.entry(fact).emissionsJSON && stored.fact == fact)
        await database.close()
    }

    @Test("its emissions' data is part of its JSON, and not held twice", arguments: facts)
    func sharing(fact: Fact?) {
        let entry = Self.entry(fact)
        func isInside(_ emission: Emission) -> Bool {
            entry.emissionsJSON.bytes.withUnsafeBytes { whole in
                emission.data.bytes.withUnsafeBytes { data in
                    guard let outer = whole.baseAddress, let inner = data.baseAddress else { return false }
                    return outer <= inner && inner + data.count <= outer + whole.count
                }
            }
        }
        #expect(entry.emissions.allSatisfy(isInside))
        #expect(!Self.emissions.contains(where: isInside), "those that it was made of have bytes of their own")
    }

    @Test("a reader that knows no facts finds the same emissions, in the same order")
    func olderReaders() throws {
        let elements = try #require(Self.entry(Self.facts[1]).emissionsJSON.array)
        #expect(elements.count == 4)
        #expect(elements.compactMap(Emission.init).map(\.event) == ["a", "b", "c"])
    }

    @Test("an unknown fact of a newer service stays, and none is derived in its place")
    func newerFact() throws {
        let message = #"{"to":"room","event":"message:new","data":{"message":{"id":"m","senderId":"u"}}}"#
        let json = try JSONValue(parsing: #"[{"fact":"messageImported","id":"m"},\#(message)]"#)
        let entry = LogEntry(
            seq: 1, at: Timestamp(milliseconds: 0), roomID: "r", participants: [], emissionsJSON: json)
        #expect(entry.fact?.kind == "messageImported" && entry.emissions.map(\.event) == ["message:new"])
    }

    @Test("the fact of sessions that ended, as the release before wrote them, follows from the event")
    func derivedFact() throws {
        let ended = #"{"sessions":["s"],"tokensUntil":5}"#
        let json = try JSONValue(
            parsing: #"[{"to":"person","person":"u","event":"sessions:ended","data":\#(ended)}]"#)
        let entry = LogEntry(
            seq: 1, at: Timestamp(milliseconds: 0), roomID: "", participants: [], emissionsJSON: json)
        let sessions = SessionsEnded(sessionIDs: ["s"], tokensUntil: Timestamp(milliseconds: 5))
        #expect(entry.fact?.sessionsEnded == sessions)
    }

    /// Entries as the release before facts wrote them, with the digests that it computed.
    private static let older: [(at: Int, emissions: String, digest: Int)] = [
        (
            1_734_428_700_123,
            #"""
            [{"to":"room","event":"message:new","endsTyping":"u1","data":{"message":{"id":"m1","roomId":"r1","seq":1,"senderId":"u1","sender":{"id":"u1","username":"ada","firstName":"Ada"},"receiverId":"u2","text":"hi","content":"hi","createdAt":"2024-12-17T09:45:00.123Z","readStatus":false,"readBy":[],"tempId":null}}},{"to":"everyone","event":"message:new:global","data":{"roomId":"r1","messageId":"m1","senderId":"u1","messagesUpdatedAt":"2024-12-17T09:45:00Z"}}]
            """#, 141_471_351_333_996
        ),
        (
            1_734_428_701_000,
            #"""
            [{"to":"room","event":"messages:read","data":{"roomId":"r1","userId":"u2","messageIds":["m1"],"readAt":"2024-12-17T09:45:01.000Z"}},{"to":"person","person":"u2","event":"room:badges","compose":"badges","data":{"roomId":"r1","badges":{"messages":0}}}]
            """#, 4_264_042_734_504_280
        ),
        (
            1_734_428_702_000,
            #"""
            [{"to":"room","event":"message:deleted","data":{"roomId":"r1","messageId":"m1","deletedBy":"u1"}}]
            """#, 3_783_571_570_215_295
        ),
    ]

    @Test("entries from before facts keep their digests", arguments: Engine.allCases)
    func olderEntries(engine: Engine) async throws {
        let folder = TemporaryFolder()
        let database = try engine.open(in: folder)
        try await database.write { connection in
            for (index, entry) in Self.older.enumerated() {
                try connection.execute(
                    """
                    INSERT INTO events (seq, at, room_id, participants, emissions, request_id)
                    VALUES ($1, $2, 'r1', '["u1","u2"]', $3, NULL)
                    """, index + 1, entry.at, entry.emissions)
            }
        }
        let entries = try await EventLog(database).page(for: LogQuery()).entries
        #expect(entries.map(\.digest) == Self.older.map(\.digest))
        #expect(entries.map { $0.emissions.count } == [2, 2, 1])
        // And such an entry as the last that somebody knows is found again by its digest.
        let page = try await EventLog(database).page(for: LogQuery(since: 2, digest: Self.older[1].digest))
        #expect(page.isKnown && page.entries.map(\.seq) == [3])
        await database.close()
    }
}

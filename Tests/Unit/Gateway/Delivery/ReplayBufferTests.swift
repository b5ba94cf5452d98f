import ParlorContracts
import ParlorEventLog
import ParlorJSON
import Testing

@testable import ParlorDelivery

@Suite("the newest entries, in memory")
struct ReplayBufferTests {
    private static func broadcast(_ seq: Int, for people: [String] = ["ada", "bob"], past: String = "") -> Broadcast {
        Broadcast(
            LogEntry(
                seq: seq, at: Timestamp(milliseconds: seq), roomID: "r", participants: people,
                emissionsJSON: JSONWriter.value { $0.array { $0.string(past) } }), of: "chat")
    }

    private static func position(_ seq: Int, past: String = "") -> LogPosition {
        LogPosition(after: broadcast(seq, past: past).entry, in: "db")
    }

    private static let beginning = LogPosition(databaseID: "db", seq: 0, digest: 0)

    private static func filled(_ seqs: ClosedRange<Int>, generationSize: Int = 10) -> ReplayBuffer {
        var recent = ReplayBuffer(generationSize: generationSize)
        recent.start("chat", after: seqs.lowerBound == 1 ? beginning : position(seqs.lowerBound - 1))
        for seq in seqs { recent.append(broadcast(seq, for: seq.isMultiple(of: 3) ? ["bob", "cy"] : ["ada", "bob"])) }
        return recent
    }

    private static func seqs(_ lookup: ReplayBuffer.Lookup) -> [Int]? {
        guard case .found(let entries) = lookup else { return nil }
        return entries.map(\.position.seq)
    }

    @Test("a person's entries since a position are found in order, and those of others are not")
    func found() {
        let recent = Self.filled(1...14)
        #expect(
            Self.seqs(recent.entries(of: "chat", since: Self.position(4), for: "ada")) == [5, 7, 8, 10, 11, 13, 14])
        #expect(Self.seqs(recent.entries(of: "chat", since: Self.beginning, for: "cy")) == [3, 6, 9, 12])
        #expect(Self.seqs(recent.entries(of: "chat", since: Self.position(14), for: "ada")) == [])
        #expect(Self.seqs(recent.entries(of: "chat", since: Self.position(4), for: "eve")) == [])
    }

    @Test("all entries of given rooms are found as well, in order, each once")
    func ofRooms() {
        let recent = Self.filled(1...14)
        func seqs(_ rooms: Set<String>) -> [Int]? {
            Self.seqs(recent.entries(of: "chat", since: Self.position(4), for: "cy", ofRooms: rooms))
        }
        #expect(seqs(["r", "other"]) == Array(5...14))
        #expect(seqs(["other"]) == [6, 9, 12])
    }

    @Test("an entry is found for each person that it has an event for, participant or not")
    func outsiders() {
        var recent = ReplayBuffer()
        recent.start("chat", after: Self.beginning)
        let emissions = ["eve", "ada", "eve"].map { Emission(to: .person($0), "e", .emptyObject) }
        recent.append(
            Broadcast(
                LogEntry(
                    seq: 1, at: Timestamp(milliseconds: 1), roomID: "r", participants: ["ada", "bob"],
                    emissions: emissions), of: "chat"))
        for person in ["ada", "bob", "eve"] {
            #expect(Self.seqs(recent.entries(of: "chat", since: Self.beginning, for: person)) == [1])
        }
    }

    /// An entry that sends a message with its `seq` as the id.
    private static func sending(_ seq: Int) -> Broadcast {
        event(seq, "message:new", .messageSent(id: "\(seq)", senderID: "bob", senderName: "Bob"))
    }

    private static func deletion(_ seq: Int, of message: Int) -> Broadcast {
        event(seq, "message:deleted", .messageDeleted(id: "\(message)"))
    }

    private static func event(_ seq: Int, _ name: String, _ fact: Fact) -> Broadcast {
        Broadcast(
            LogEntry(
                seq: seq, at: Timestamp(milliseconds: seq), roomID: "r", participants: ["ada"],
                emissions: [Emission(to: .room, name, JSONValue("secret"))], fact: fact), of: "chat")
    }

    @Test("a message deleted while older entries are fetched is removed from them")
    func deletedBeforeBackfill() {
        var recent = ReplayBuffer()
        let sent = (1...3).map(Self.sending)
        let end = LogPosition(after: sent[2].entry, in: "db")
        recent.start("chat", after: end)
        recent.append(Self.deletion(4, of: 2))
        recent.backfill("chat", sent, from: Self.beginning, to: end)
        guard case .found(let entries) = recent.entries(of: "chat", since: Self.beginning, for: "ada") else {
            Issue.record("they are not there")
            return
        }
        #expect(entries.map(\.items.isEmpty) == [false, true, false, false])
    }

    @Test("a deleted message's events are removed, in either generation, and positions after it stay valid")
    func deleted() {
        for count in [2, 12, 25] {
            var recent = ReplayBuffer(generationSize: 10)
            recent.start("chat", after: Self.beginning)
            let sent = (1...count).map(Self.sending)
            let last = Self.deletion(count + 1, of: count - 1)
            for broadcast in sent + [last] { recent.append(broadcast) }
            let since = count > 12 ? sent[count - 12] : nil
            guard
                case .found(let entries) = recent.entries(
                    of: "chat", since: LogPosition(after: since?.entry, in: "db"), for: "ada")
            else {
                Issue.record("they are not there")
                continue
            }
            #expect(entries.filter { $0.items.isEmpty }.map(\.position.seq) == [count - 1])
            #expect(entries.last?.entry == last.entry)
            let position = sent[count - 2].logPosition(in: "db")
            #expect(Self.seqs(recent.entries(of: "chat", since: position, for: "ada")) == [count, count + 1])
        }
    }

    @Test("at least one generation is kept, at most two; older entries have to be requested")
    func generations() {
        let recent = Self.filled(1...35)
        for seq in 20...35 {
            #expect(
                Self.seqs(recent.entries(of: "chat", since: Self.position(seq), for: "bob")) == Array((seq + 1)..<36))
        }
        guard case .older = recent.entries(of: "chat", since: Self.position(19), for: "bob") else {
            Issue.record("a generation is kept for too long")
            return
        }
    }

    @Test("a position of another history, of another database, or ahead is unknown")
    func unknown() {
        let recent = Self.filled(1...14)
        for position in [
            Self.position(4, past: "another"),
            LogPosition(databaseID: "other", seq: 4, digest: Self.position(4).digest),
            Self.position(15),
        ] {
            guard case .unknown = recent.entries(of: "chat", since: position, for: "ada") else {
                Issue.record("\(position) is taken for one of this log")
                continue
            }
        }
        guard case .unknown = recent.entries(of: "rooms", since: Self.beginning, for: "ada") else {
            Issue.record("a log that never started")
            return
        }
    }

    @Test("after a gap the buffer restarts behind it")
    func gap() {
        var recent = Self.filled(1...5)
        recent.append(Self.broadcast(9))
        recent.append(Self.broadcast(10))
        #expect(recent.positions["chat"] == Self.position(10))
        #expect(Self.seqs(recent.entries(of: "chat", since: Self.position(9), for: "ada")) == [10])
        guard case .older = recent.entries(of: "chat", since: Self.position(5), for: "ada") else {
            Issue.record("what the gap held is passed over")
            return
        }
    }

    @Test("entries from before the start are added, unless the log has started elsewhere since")
    func backfill() {
        var recent = ReplayBuffer(generationSize: 10)
        recent.start("chat", after: Self.position(8))
        recent.append(Self.broadcast(9))
        let entries = (4...8).map { Self.broadcast($0) }
        recent.backfill("chat", entries, from: Self.position(3), to: Self.position(7))
        recent.backfill("chat", Array(entries.dropLast()), from: Self.position(3), to: Self.position(8))
        guard case .older = recent.entries(of: "chat", since: Self.position(7), for: "ada") else {
            Issue.record("entries of another place, or with a gap, were taken")
            return
        }
        recent.backfill("chat", entries, from: Self.position(3), to: Self.position(8))
        #expect(Self.seqs(recent.entries(of: "chat", since: Self.position(3), for: "ada")) == [4, 5, 6, 7, 8, 9])
    }
}

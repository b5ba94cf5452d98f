import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import Testing

@testable import ParlorEventLog

@Suite("Lists of many participants")
struct ParticipantListsTests {
    private static let people = (1...100).map { "00000000-0000-7000-8000-\(100_000_000_000 + $0)" }

    private func entry(_ seq: Int, in room: String = "group", of people: [String] = people) -> LogEntry {
        LogEntry(
            seq: seq, at: Timestamp(milliseconds: seq), roomID: room, participants: people,
            emissions: [Emission(to: .room, "message:new", .emptyObject)])
    }

    /// Where a list is in memory.
    private func place(_ ids: [String]?) -> UnsafePointer<String>? { ids?.withUnsafeBufferPointer(\.baseAddress) }

    @Test("entries of a room with the same people share one list, however they arrive")
    func shared() throws {
        let lists = ParticipantLists()
        let first = try #require(LogEntry(entry(1).json, sharing: lists))
        let message = BusMessage(subject: "messaging.log", payload: entry(2).json)
        let second = try #require(LogEntry.read(message, sharing: lists))
        let head = LogPosition(after: second, in: "database")
        let page = LogPage(head: head, oldest: 1, isKnown: true, entries: [entry(3), entry(4)], through: 4)
        let found = try #require(try LogPage(Reply(.ok, page.json), sharing: lists)).entries
        #expect(([first, second] + found).map(\.participants) == Array(repeating: Self.people, count: 4))
        #expect(Set(([first, second] + found).map { place($0.participants) }).count == 1)
    }

    @Test("another list, and that of another room, are read anew")
    func others() throws {
        let lists = ParticipantLists()
        let fewer = Array(Self.people.dropLast())
        let swapped = fewer + ["00000000-0000-7000-8000-200000000000"]
        for people in [Self.people, fewer, swapped, Self.people, ["one", "other"], []] {
            for room in ["group", "other"] {
                let read = try #require(LogEntry(entry(1, in: room, of: people).json, sharing: lists))
                #expect(read.participants == people)
            }
        }
        #expect(LogEntry(entry(1).json, sharing: lists) == entry(1))
    }

    @Test("an entry of many people keeps none of the bytes that it arrived in")
    func detached() throws {
        let json = entry(1).json
        let read = try #require(LogEntry(json, sharing: ParticipantLists()))
        #expect(read.emissionsJSON == entry(1).emissionsJSON)
        #expect(read.emissionsJSON.bytes.startIndex == 0)
        let pair = try #require(LogEntry(entry(1, of: ["one", "other"]).json, sharing: ParticipantLists()))
        #expect(pair.emissionsJSON.bytes.startIndex > 0, "a copy of each would be a cost")
    }
}

import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorDelivery

@Suite("Badges waiting to be composed")
struct BadgeQueueTests {
    private static func pending(_ seq: Int, room: String = "r") -> BadgeQueue.Pending {
        let emission = Emission(to: .person("ada"), "room:badges", JSONValue(seq), composition: .badges)
        let item = Broadcast.Item(emission: emission, packet: nil)
        return .init(
            event: Replay.Event(item: item, roomID: room), position: EntryPosition(log: "chat", seq: seq))
    }

    @Test("one person's badges are composed one after the other, in the log's order")
    func order() {
        var queue = BadgeQueue()
        let starts = [(1, "ada"), (2, "ada"), (3, "bob")].map { seq, id in queue.add(Self.pending(seq), for: id) }
        #expect(starts == [true, false, true], "another person's do not wait for them")
        #expect(queue.next(for: "ada")?.position.seq == 1)
        #expect(queue.next(for: "ada")?.position.seq == 1, "it stays until it is removed")
        queue.removeNext(for: "ada")
        #expect(queue.next(for: "ada")?.position.seq == 2)
        queue.removeNext(for: "ada")
        #expect(queue.next(for: "ada") == nil)
        let startsAnew = queue.add(Self.pending(4), for: "ada")
        #expect(startsAnew)
    }

    @Test("a full queue merges a room's badges into the earlier one, except the one being composed")
    func bounded() {
        var queue = BadgeQueue()
        for seq in 1...BadgeQueue.maxPending { _ = queue.add(Self.pending(seq, room: "\(seq % 4)"), for: "ada") }
        _ = queue.add(Self.pending(1000, room: "1"), for: "ada")
        _ = queue.add(Self.pending(1001, room: "new"), for: "ada")
        var seqs: [Int] = []
        while let next = queue.next(for: "ada") {
            seqs.append(next.position.seq)
            queue.removeNext(for: "ada")
        }
        // The first of room 1 is being composed; its second gives way. A room without another stays.
        #expect(seqs == [1, 2, 3, 4] + Array(6...BadgeQueue.maxPending) + [1000, 1001])
    }
}

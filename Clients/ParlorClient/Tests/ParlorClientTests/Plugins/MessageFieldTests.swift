import Testing

@testable import ParlorClient

/// Tests of messages with fields of plugins. Pages have these fields; events and replies do not.
@Suite("Fields of messages")
struct MessageFieldTests {
    private var store = MessageStore(roomID: "room", ownID: "me")

    private func sample(_ seq: Int, roll: JSON?, from sender: String = "ann") -> Message {
        var message = ParlorClientTests.sample(seq, from: sender)
        message.extras["roll"] = roll
        return message
    }

    private var roll: JSON? { store.items.last?.message?.extras["roll"] }

    @Test("an event that is replayed, or a reply that comes after the page, keeps them", arguments: [false, true])
    mutating func events(isReply: Bool) {
        store.merge(Page(items: [sample(1, roll: .integer(6), from: "me")]), asked: .newest)
        let bare = sample(1, roll: nil, from: "me")
        if isReply { store.confirm("t1", as: bare) } else { store.insert(bare) }
        #expect(roll == .integer(6))
    }

    @Test("a page has them as they are now, also zero, null or gone", arguments: [.integer(0), .null, nil] as [JSON?])
    mutating func pages(now: JSON?) {
        store.merge(Page(items: [sample(1, roll: .integer(6))]), asked: .newest)
        store.merge(Page(items: [sample(1, roll: now)]), asked: .newest)
        #expect(roll == now)
    }

    @Test("a room that is entered again fetches a page if messages have fields, or had in any room")
    func freshRooms() {
        let bare = [sample(1, roll: nil)]
        func isFresh(_ cached: [Message], _ rooms: FreshRooms = FreshRooms()) -> Bool {
            _ = rooms.advance(to: "c", isWhole: true)
            return rooms.page(of: CachedMessages(cached, step: rooms.step), in: "room", on: "c") != nil
        }
        #expect(isFresh(bare))
        #expect(!isFresh([sample(1, roll: .integer(6))]))
        let rooms = FreshRooms()
        #expect(rooms.note(Page(items: bare)) == nil)
        #expect(isFresh(bare, rooms))
        #expect(rooms.note(Page(items: [sample(2, roll: .null)]))?.hasFields == true)
        #expect(!isFresh(bare, rooms))
        // The next run of the app knows it, too.
        let next = FreshRooms()
        next.resume(from: rooms.advance(to: "c", isWhole: true)?.position)
        #expect(!isFresh(bare, next))
    }

    @Test("known fields stay if a page of a server without an answer of the service has them empty")
    mutating func degraded() {
        store.merge(Page(items: [sample(1, roll: .integer(6))]), asked: .newest)
        store.merge(Page(items: [sample(1, roll: .null)], degraded: ["dice"]), asked: .newest)
        #expect(roll == .integer(6))
        store.merge(Page(items: [sample(1, roll: .integer(2))], degraded: ["dice"]), asked: .newest)
        #expect(roll == .integer(2))
    }
}

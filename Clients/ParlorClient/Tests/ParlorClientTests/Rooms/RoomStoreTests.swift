import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@Suite("RoomStore")
struct RoomStoreTests {
    private let now = Given.at(1000)

    @Test("an unknown room id is remembered only while an answer may contain it")
    func noTrace() {
        var store = RoomStore(for: "me", order: .activity)
        #expect(store.apply(Given.newGlobal("m1", in: "x"), now: now) == nil)
        #expect(store.loads.isEmpty)
        let (first, second) = (store.beginLoad(), store.beginLoad())
        #expect(store.apply(Given.newGlobal("m2", in: "x"), now: now) == nil)
        #expect(store.apply(Given.newGlobal("m3", in: "mine"), now: now) == nil)
        store.abandon(first)
        #expect(store.finish(second, with: [Given.room("mine")], now: now) == ["mine", "x"])
        #expect(store.loads.isEmpty)
        // It is unknown whether the answer includes the event of the person's own room.
        #expect(store.needs == ["mine": [.answer]])
    }

    @Test("an event with the missing data ends the need to fetch")
    func meeting() {
        var store = RoomStore(for: "me", order: .activity)
        _ = store.finish(store.beginLoad(), with: [Given.room("r")], now: .distantPast)
        _ = store.apply(Given.newGlobal("m1"), now: now)
        _ = store.apply(.elementDeleted(roomID: "r", elementID: "e1", deletedBy: "bob"), now: now)
        _ = store.apply(.roomCleared(roomID: "r", clearedBy: "bob"), now: now)
        #expect(store.needs == ["r": [.message("m1"), .element("e1"), .clearing]])
        _ = store.apply(.messageNew(Given.message("m1", in: "r")), now: now)
        _ = store.apply(Given.elements(.deleted, "e1", count: 0, rev: 1), now: now)
        _ = store.apply(Given.elements(.cleared, count: 0, rev: 2), now: now)
        #expect(store.needs.isEmpty)
    }

    @Test("rooms have the same order whatever the order of insertion", arguments: RoomOrder.allCases)
    func total(order: RoomOrder) {
        let rooms = (0..<40).map { (number: Int) -> Room in
            let messages: Double? = number % 3 == 0 ? nil : Double(number % 4)
            return Given.room("r\(number)", updatedAt: Double(number % 5), messagesUpdatedAt: messages)
        }
        var expected: [String]?
        for seed in 0..<20 {
            var generator = SeededGenerator(seed: UInt64(seed))
            var store = RoomStore(for: "me", order: order)
            for room in rooms.shuffled(using: &generator) { store.put(room) }
            let ids = store.rooms.map(\.id)
            if let expected { #expect(ids == expected) } else { expected = ids }
        }
    }

    @Test("rooms stay sorted through any changes, and are found by id", arguments: Seeds.first(20))
    func sorted(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var sorted = SortedRooms(order: .activity)
        var expected: [String: Room] = [:]
        for _ in 0..<300 {
            let id = "r\(Int.random(in: 0..<20, using: &generator))"
            let time = Double(Int.random(in: 0..<10, using: &generator))
            let before = (sorted.version, sorted.membership, sorted.all)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<3:
                let room = Given.room(id, updatedAt: time, messagesUpdatedAt: time > 4 ? time / 2 : nil)
                expected[id] = room
                sorted.put(room)
            case 3..<7:
                expected[id]?.noteMessages(at: Given.at(time))
                sorted.change(id) { $0.noteMessages(at: Given.at(time)) }
            case 7:
                expected[id] = nil
                sorted.remove(id)
            case 8: sorted.order = RoomOrder.allCases.randomElement(using: &generator) ?? .activity
            default: sorted.replaceAll(with: expected.values.shuffled(using: &generator))
            }
            #expect(sorted.all == expected.values.sorted { sorted.order.sorts($0, before: $1) })
            #expect((0..<20).allSatisfy { sorted["r\($0)"] == expected["r\($0)"] })
            #expect((sorted.version != before.0) == (sorted.all != before.2))
            #expect((sorted.membership != before.1) == (Set(sorted.all.map(\.id)) != Set(before.2.map(\.id))))
        }
    }
}

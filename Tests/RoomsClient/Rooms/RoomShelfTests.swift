import Foundation
import RoomsClientTesting
import Testing

@testable import RoomsClient

@Suite("RoomShelf")
struct RoomShelfTests {
    private let now = Given.at(1000)

    @Test("an id that is not on the shelf is remembered for as long as an answer may have it, and no longer")
    func noTrace() {
        var shelf = RoomShelf(for: "me", order: .activity)
        #expect(shelf.apply(Given.newGlobal("m1", in: "x"), now: now) == nil)
        #expect(shelf.touched.isEmpty)
        let (first, second) = (shelf.beginLoad(), shelf.beginLoad())
        #expect(shelf.apply(Given.newGlobal("m2", in: "x"), now: now) == nil)
        #expect(shelf.apply(Given.newGlobal("m3", in: "mine"), now: now) == nil)
        shelf.abandon(first)
        #expect(shelf.finish(second, with: [Given.room("mine")], now: now) == ["mine", "x"])
        #expect(shelf.touched.isEmpty)
        // Of one's own it can't be known whether the answer has the event.
        #expect(shelf.needs == ["mine": [.answer]])
    }

    @Test("an event that says the rest meets the need")
    func meeting() {
        var shelf = RoomShelf(for: "me", order: .activity)
        _ = shelf.finish(shelf.beginLoad(), with: [Given.room("r")], now: .distantPast)
        _ = shelf.apply(Given.newGlobal("m1"), now: now)
        _ = shelf.apply(.elementDeleted(roomID: "r", elementID: "e1", deletedBy: "bob"), now: now)
        _ = shelf.apply(.roomCleared(roomID: "r", clearedBy: "bob"), now: now)
        #expect(shelf.needs == ["r": [.message("m1"), .element("e1"), .clearing]])
        _ = shelf.apply(.messageNew(Given.message("m1", in: "r")), now: now)
        _ = shelf.apply(Given.elements(.deleted, "e1", count: 0, rev: 1), now: now)
        _ = shelf.apply(Given.elements(.cleared, count: 0, rev: 2), now: now)
        #expect(shelf.needs.isEmpty)
    }

    @Test("any order of inserting leads to the same order of rooms", arguments: RoomOrder.allCases)
    func total(order: RoomOrder) {
        let rooms = (0..<40).map { (number: Int) -> Room in
            let messages: Double? = number % 3 == 0 ? nil : Double(number % 4)
            return Given.room("r\(number)", updatedAt: Double(number % 5), messagesUpdatedAt: messages)
        }
        var expected: [String]?
        for seed in 0..<20 {
            var generator = SeededGenerator(seed: UInt64(seed))
            var shelf = RoomShelf(for: "me", order: order)
            for room in rooms.shuffled(using: &generator) { shelf.put(room) }
            let ids = shelf.rooms.map(\.id)
            if let expected { #expect(ids == expected) } else { expected = ids }
        }
    }
}

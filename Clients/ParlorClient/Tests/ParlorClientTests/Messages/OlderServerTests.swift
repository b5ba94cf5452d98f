import Foundation
import Testing

@testable import ParlorClient

/// Tests with messages of older servers, which have no `seq`.
extension MessageStoreTests {
    /// Returns a message of an older server.
    func older(_ id: String, at seconds: Double, from sender: String = "ann") -> Message {
        Message(
            id: id, roomID: "room", seq: 0, senderID: sender, text: id, createdAt: start.addingTimeInterval(seconds))
    }

    @Test("messages without a counter are sorted by time, each once, whatever the order of arrival")
    mutating func withoutSeq() {
        store.merge(Page(items: [older("b", at: 2), older("d", at: 4)], next: "b"), asked: .newest)
        store.insert(older("e", at: 5))
        store.insert(older("c", at: 3))
        store.insert(older("d", at: 4))
        #expect(store.items.map(\.text) == ["b", "c", "d", "e"])
        #expect(store.items.map(\.seq) == [nil, nil, nil, nil])
        #expect(store.firstGap == nil, "times have no gaps")
        #expect(!store.hasOlder, "before a time nothing can be asked for")
        store.delete("c")
        store.insert(older("c", at: 3))
        #expect(store.items.map(\.text) == ["b", "d", "e"])
    }

    @Test("messages of the same millisecond all appear, in the same order everywhere")
    mutating func sameTime() {
        let messages = (0..<20).map { older("m\($0)", at: 1) }
        var other = store
        for message in messages { store.insert(message) }
        for message in messages.reversed() { other.insert(message) }
        #expect(store.items.count == 20)
        #expect(store == other)
    }

    @Test("an own message without a counter replaces the pending one, and is not dropped")
    mutating func ownWithoutSeq() {
        store.merge(Page(items: [older("a", at: 1)]), asked: .newest)
        store.addPending(typed("t"))
        store.confirm("t", as: older("b", at: 2, from: "me"))
        #expect(store.items.map(\.id) == ["a", "t"])
        #expect(store.items.map(\.state) == [.stored, .stored])
        store.markUnverified()
        store.merge(Page(items: [older("a", at: 1), older("b", at: 2, from: "me")]), asked: .newest)
        store.dropUnverified()
        #expect(store.items.map(\.text) == ["a", "b"])
    }

    @Test("once the server counts messages, those without a counter come first")
    mutating func countedLater() {
        store.insert(sample(1))
        store.merge(Page(items: [older("a", at: 100), sample(1)]), asked: .newest)
        #expect(store.items.map(\.text) == ["a", "text 1"])
        #expect(store.firstGap == nil)
    }
}

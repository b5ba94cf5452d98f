import Foundation
import Testing

@testable import ParlorClient

@Suite("MessageStore")
struct MessageStoreTests {
    var store = MessageStore(roomID: "room", ownID: "me", readership: .of("me", "ann"))

    func typed(_ id: String) -> PendingMessage { PendingMessage(tempID: id, text: id, createdAt: start) }

    @Test("before a page has come, there is what comes before the cached messages")
    mutating func olderThanCached() {
        #expect(!store.hasOlder)
        store.showCached([sample(5), sample(6)])
        #expect(store.hasOlder)
        store.showCached([sample(1)])
        #expect(!store.hasOlder, "the first message of all")
        store.merge(page(5...6, next: "5"), asked: .newest)
        #expect(store.hasOlder)
        store.merge(page(1...3), asked: .before(5))
        #expect(!store.hasOlder)
    }

    @Test("messages are sorted by seq, whatever the order of arrival; pending ones follow in the order typed")
    mutating func order() {
        store.addPending(typed("first"))
        store.addPending(typed("second"))
        for seq in [3, 1, 4, 2] { store.insert(sample(seq)) }
        #expect(store.items.shown == ["m1", "m2", "m3", "m4", "first", "second"])
    }

    @Test("a message that was stored and deleted is not pending again after a late change of the outbox")
    mutating func lateOutbox() {
        store.addPending(typed("t1"))
        store.insert(sample(7, from: "me", tempID: "t1"))
        store.delete("m7")
        store.addPending(typed("t1"))
        #expect(store.items.isEmpty)
        _ = store.takeSettled()
        store.setPending([typed("t1")])
        #expect(store.items.isEmpty)
        #expect(store.takeSettled() == ["t1"])
    }

    @Test("a message appears once, in its row, after ack, event, both in any order, or a page", arguments: 0..<4)
    mutating func confirm(way: Int) {
        store.addPending(typed("t1"))
        store.addPending(typed("t2"))
        let row = store.items[0].id
        let stored = sample(7, from: "me", tempID: "t1")
        switch way {
        case 0:
            store.confirm("t1", as: stored)
            store.insert(stored)
        case 1:
            store.insert(stored)
            store.confirm("t1", as: stored)
        case 2: store.merge(Page(items: [stored]), asked: .newest)
        default:
            // An older server's event has no `tempId`.
            store.insert(sample(7, from: "me"))
            store.confirm("t1", as: sample(7, from: "me"))
        }
        #expect(store.items.shown == ["m7", "t2"])
        #expect(store.items[0].id == row)
        #expect(store.items[0].state == .stored)
    }

    @Test("another person's message with an own message's tempId is a different message")
    mutating func foreignTempID() {
        store.addPending(typed("t1"))
        store.insert(sample(1, from: "ann", tempID: "t1"))
        #expect(store.items.shown == ["m1", "t1"])
        #expect(Set(store.items.map(\.id)).count == 2)
    }

    @Test("a deleted message does not return with a late event, a late ack or an earlier page")
    mutating func deleted() {
        store.addPending(typed("t3"))
        store.insert(sample(1))
        store.insert(sample(2))
        store.delete("m2")
        store.delete("m3")
        store.insert(sample(2))
        store.confirm("t3", as: sample(3, from: "me", tempID: "t3"))
        store.merge(page(1...3), asked: .newest)
        #expect(store.items.shown == ["m1"])
    }

    @Test("a message missing within a page's bounds is deleted; later ones stay")
    mutating func pageDeletes() {
        for seq in 1...6 { store.insert(sample(seq)) }
        store.merge(page([2, 4, 5], next: "2"), asked: .newest)
        #expect(store.items.shown == ["m1", "m2", "m4", "m5", "m6"])
        store.insert(sample(3))
        #expect(store.items.shown == ["m1", "m2", "m4", "m5", "m6"], "a late echo of a deleted message")
    }

    @Test("an older page covers everything below its bound, and the first page everything from 1")
    mutating func olderPages() {
        store.merge(page(11...13, next: "11"), asked: .newest)
        #expect(store.hasOlder)
        store.merge(page(5...8), asked: .before(11))
        #expect(!store.hasOlder)
        #expect(store.items.shown == [5, 6, 7, 8, 11, 12, 13].map { "m\($0)" })
        #expect(store.firstGap == nil)
    }

    @Test("a message above a gap reveals it, until the missing ones arrive or a page lacks them")
    mutating func gaps() {
        store.merge(page(1...3), asked: .newest)
        store.insert(sample(6))
        #expect(store.firstGap == 4...5)
        store.insert(sample(4))
        #expect(store.firstGap == 5...5)
        store.merge(page([6]), asked: .gap(5...5))
        #expect(store.firstGap == nil)
        #expect(store.items.shown == ["m1", "m2", "m3", "m4", "m6"])
    }

    @Test("an event below the first page is ignored, because its page will have it")
    mutating func history() {
        store.merge(page(11...13, next: "11"), asked: .newest)
        store.insert(sample(2))
        #expect(store.items.shown == ["m11", "m12", "m13"])
        #expect(store.firstGap == nil)
    }

    @Test("cached messages are shown, and those that the server does not confirm are removed")
    mutating func cached() {
        store.showCached((1...10).map { sample($0) })
        #expect(store.items.count == 10)
        store.merge(page([6, 8, 9], next: "6"), asked: .newest)
        #expect(store.items.shown == ["m1", "m2", "m3", "m4", "m5", "m6", "m8", "m9"], "m7 and m10 are deleted")
        store.dropUnverified()
        #expect(store.items.shown == ["m6", "m8", "m9"])
        store.insert(sample(10))
        #expect(store.items.shown == ["m6", "m8", "m9"])
    }

    @Test("a page of an earlier time does not delete an own message sent since, nor refuse others' events")
    mutating func earlierPage() {
        store.showCached((1...3).map { sample($0) })
        // The outbox confirms message 6 before the room's events arrive.
        store.confirm("t6", as: sample(6, from: "me", tempID: "t6"))
        store.markUnverified()
        store.merge(page(1...3), asked: .earlierNewest)
        #expect(store.items.shown == ["m1", "m2", "m3", "m6"])
        for seq in 4...6 { store.insert(sample(seq, from: seq == 6 ? "me" : "ann")) }
        store.dropUnverified()
        #expect(store.items.shown == (1...6).map { "m\($0)" })
        #expect(store.firstGap == nil)
    }

    @Test("cached messages never replace those that the server has sent meanwhile")
    mutating func lateCache() {
        store.merge(page([6, 8], next: "6"), asked: .newest)
        store.showCached([sample(7), sample(8, text: "old")])
        #expect(store.items.shown == ["m6", "m8"])
        #expect(store.items[1].text == "text 8")
    }

    @Test("a message is read once all other participants have read it, and stays so")
    mutating func read() {
        store.readership = .of("me", "ann", "bo")
        store.insert(sample(1, from: "me", tempID: "t"))
        store.markRead(["m1"], by: "ann", at: start)
        #expect(store.items[0].state == .stored)
        store.markRead(["m1"], by: "bo", at: start)
        #expect(store.items[0].state == .read)
        store.insert(sample(1, from: "me", tempID: "t"))
        #expect(store.items[0].state == .read, "a late echo is older than the receipts")
        #expect(store.items[0].message?.readBy.map(\.userID) == ["ann", "bo"])
    }

    @Test("a receipt that arrives before its message is kept")
    mutating func earlyReceipt() {
        store.markRead(["m1"], by: "ann", at: start)
        store.insert(sample(1, from: "me"))
        #expect(store.items[0].state == .read)
    }

    @Test("early receipts of a message are kept once per reader, however often they arrive")
    mutating func repeatedReceipt() {
        for second in 0..<100 { store.markRead(["m1"], by: "ann", at: start.addingTimeInterval(Double(second))) }
        #expect(store.earlyReceipts["m1"] == [receipt("ann", 99)])
    }

    @Test("a message can fail, be retried and be discarded")
    mutating func failing() {
        store.addPending(typed("t"))
        store.setState(.sending, of: "t")
        #expect(store.items[0].state == .sending)
        let reason = SendFailure(code: "invalid_field", message: "too long")
        store.setState(.failed(reason), of: "t")
        #expect(store.items[0].state == .failed(reason))
        store.setState(.queued, of: "t")
        #expect(store.items[0].state == .queued)
        store.removePending("t")
        #expect(store.items.isEmpty)
    }

    @Test("the version rises with every visible change")
    mutating func versionRises() {
        let changes: [(inout MessageStore) -> Void] = [
            { $0.insert(sample(2)) }, { $0.insert(sample(1)) }, { $0.insert(sample(1, text: "other")) },
            { $0.addPending(PendingMessage(tempID: "t", text: "t", createdAt: start)) },
            { $0.setState(.sending, of: "t") }, { $0.confirm("t", as: sample(3, from: "me")) },
            { $0.markRead(["m3"], by: "ann", at: start) }, { $0.delete("m1") },
            { $0.merge(page([2, 4]), asked: .newest) },
            { $0.addPending(PendingMessage(tempID: "u", text: "u", createdAt: start)) }, { $0.removePending("u") },
            {
                $0.markUnverified()
                $0.dropUnverified()
            },
        ]
        for (index, change) in changes.enumerated() {
            let before = store
            change(&store)
            #expect(store.version == before.version + 1, "change \(index)")
            #expect(store.items != before.items, "change \(index)")
        }
    }

    @Test("the version rises when only the order changes")
    mutating func versionOfOrder() {
        store.addPending(typed("a"))
        store.addPending(typed("b"))
        let before = store
        store.setPending([typed("b"), typed("a")])
        #expect(store.items.shown == ["b", "a"])
        #expect(store.version == before.version + 1)
        #expect(store != before)
    }

    @Test("the version does not rise if nothing changes")
    mutating func versionStays() {
        let read = sample(4, readBy: [receipt("bo", 2), receipt("me", 1)], isRead: true)
        store.merge(Page(items: [read], next: "4"), asked: .newest)
        store.addPending(typed("t"))
        let before = store.version
        store.insert(sample(4))
        store.insert(read)
        store.insert(sample(9, room: "another"))
        store.insert(sample(1))
        store.merge(page([4], next: "4"), asked: .newest)
        store.delete("unknown")
        store.markRead(["unknown"], by: "me", at: start)
        store.markRead(["m4"], by: "ann", at: start)  // the sender itself
        store.setState(.sending, of: "unknown")
        store.setState(.queued, of: "t")
        store.addPending(typed("t"))
        store.removePending("unknown")
        store.markUnverified()
        #expect(store.version == before)
    }

    @Test("a pending message on disk that the server has stored is not shown twice")
    mutating func pendingStored() {
        store.insert(sample(1, from: "me", tempID: "t"))
        store.addPending(typed("t"))
        store.setPending([typed("t"), typed("u")])
        #expect(store.items.shown == ["m1", "u"])
    }
}

import Foundation
import Testing

@testable import ParlorClient

@Suite("RoomCounts")
struct RoomCountsTests {
    private func counts(_ room: Room = Given.room("r", elements: 2)) -> RoomCounts {
        var counts = RoomCounts(for: "me")
        counts.load([room])
        return counts
    }

    @Test("counts come from the rooms")
    func loading() {
        let counts = counts(Given.room("r", elements: 4, badges: .init(messages: 2, elements: 3)))
        #expect(counts.rooms == ["r": RoomCount(elements: 4, unseenElements: 3, unreadMessages: 2)])
    }

    @Test("another person's element is unseen, the person's own is not")
    func unseen() {
        var counts = counts()
        counts.apply(Given.elements(.created, "e1", count: 3, rev: 5))
        counts.apply(Given.elements(.created, "e2", by: "me", count: 4, rev: 6))
        #expect(counts.rooms["r"] == RoomCount(elements: 4, unseenElements: 1))
    }

    @Test("a rev sets the count, so doubled, late and lost events cause no drift")
    func rev() {
        var counts = counts()
        counts.apply(Given.elements(.created, "e2", count: 9, rev: 7))
        counts.apply(Given.elements(.created, "e2", count: 9, rev: 7))
        counts.apply(Given.elements(.created, "e1", count: 8, rev: 6))
        #expect(counts.rooms["r"] == RoomCount(elements: 9, unseenElements: 2))
        counts.apply(Given.elements(.updated, "e1", count: 11, rev: 12))
        #expect(counts.rooms["r"]?.elements == 11)
    }

    @Test(
        "a skipped or late rev requires a fetch, but the first one, also after an absence, does not"
    )
    func skipping() {
        var counts = counts()
        var asks = (5...6).map { counts.apply(Given.elements(.updated, "e0", count: 2, rev: $0)) }
        #expect(asks == [false, false])
        asks = [8, 8, 7, 7].map { (rev: Int) in counts.apply(Given.elements(.created, "e\(rev)", count: 2, rev: rev)) }
        #expect(asks == [true, false, true, false])
        #expect(counts.rooms["r"]?.unseenElements == 2)
        counts.noteAbsence()
        asks = [12, 13, 15].map { counts.apply(Given.elements(.updated, "e0", count: 2, rev: $0)) }
        #expect(asks == [false, false, true])
    }

    @Test("events of older servers, without rev, are added to the count")
    func older() {
        var counts = counts()
        counts.apply(Given.elements(.created, "e1"))
        counts.apply(Given.elements(.created, "e1"))
        counts.apply(Given.elements(.created, "e2"))
        counts.apply(Given.elements(.updated, "e2"))
        counts.apply(Given.elements(.deleted, "e1"))
        #expect(counts.rooms["r"] == RoomCount(elements: 3, unseenElements: 2))
        counts.apply(Given.elements(.cleared))
        counts.apply(Given.elements(.deleted, "e9"))
        #expect(counts.rooms["r"]?.elements == 0)
    }

    @Test("each deletion by an older server counts once, in any order")
    func olderDeletions() {
        var counts = counts(Given.room("r", elements: 100))
        for number in (100..<200).reversed() {
            for _ in 1...2 { counts.apply(Given.elements(.deleted, "e\(number)")) }
        }
        #expect(counts.rooms["r"]?.elements == 0)
    }

    @Test("deleting and clearing do not lower the unseen count")
    func deleting() {
        var counts = counts()
        counts.apply(Given.elements(.created, "e1", count: 3, rev: 1))
        counts.apply(Given.elements(.deleted, "e1", count: 2, rev: 2))
        counts.apply(Given.elements(.cleared, count: 0, rev: 3))
        #expect(counts.rooms["r"] == RoomCount(elements: 0, unseenElements: 1))
    }

    @Test("entering resets the unseen count, and elements that arrive in an open room are seen")
    func entering() {
        var counts = counts(Given.room("r", badges: .init(messages: 1, elements: 5)))
        counts.enter("r")
        #expect(counts.rooms["r"] == RoomCount(unreadMessages: 1))
        counts.apply(Given.elements(.created, "e1", count: 1, rev: 1))
        #expect(counts.rooms["r"]?.unseenElements == 0)
        counts.leave("r")
        counts.apply(.elementCreated(Given.element("e1", in: "r")))
        #expect(counts.rooms["r"]?.unseenElements == 0)
        counts.apply(Given.elements(.created, "e2", count: 2, rev: 2))
        #expect(counts.rooms["r"]?.unseenElements == 1)
    }

    @Test("a message is counted once, whether the event to the room, to everyone, or both arrive")
    func once() {
        var counts = counts()
        counts.apply(.messageNew(Given.message("m1", in: "r")))
        counts.apply(Given.newGlobal("m1"))
        counts.apply(Given.newGlobal("m2"))
        counts.apply(Given.newGlobal("m3", from: "me"))
        #expect(counts.rooms["r"]?.unreadMessages == 2)
    }

    @Test("nothing is counted twice, however late it is repeated")
    func longAgo() {
        var counts = counts()
        for _ in 1...2 {
            for number in 100..<300 { counts.apply(.messageNew(Given.message("m\(number)", in: "r"))) }
        }
        #expect(counts.rooms["r"]?.unreadMessages == 200)
    }

    @Test("a late event does not count a message that an answer has counted")
    func counted() {
        var counts = counts(Given.room("r", badges: .init(messages: 1), last: Given.last("m5")))
        counts.apply(Given.newGlobal("m5"))
        #expect(counts.rooms["r"]?.unreadMessages == 1)
        counts.apply(Given.newGlobal("m6"))
        #expect(counts.rooms["r"]?.unreadMessages == 2)
    }

    @Test("counts near the integer limits do not overflow")
    func hugeNumbers() throws {
        var counts = RoomCounts(for: "me")
        let room = try ServerDecoder().decode(
            Room.self,
            from: Data(
                #"""
                {"id":"r","createdAt":"2024-12-17T09:45:00Z","elementCount":\#(Int.max),
                 "badges":{"messages":\#(Int.max),"elements":\#(Int.min)}}
                """#.utf8))
        counts.load(room)
        for rev in [Int.min, Int.max, Int.min] {
            let event = RoomEvent.decode(
                name: "element:created:global",
                data: Data(
                    #"{"roomId":"r","elementId":"e\#(rev)","createdBy":"ann","updatedAt":"2024-12-17T09:45:00Z","rev":\#(rev)}"#
                        .utf8))
            counts.apply(event)
        }
        counts.apply(.messageNew(sample(.max, room: "r")))
        let count = try #require(counts.rooms["r"])
        #expect(count.unseenElements == 2)
        #expect(count.unreadMessages > 1 << 52 && count.elements > 1 << 52)
    }

    @Test("badges replace the counts")
    func badges() {
        var counts = counts()
        counts.apply(Given.newGlobal("m1"))
        counts.apply(.badges(roomID: "r", badges: .init(messages: 0, elements: 4), hasUnread: true))
        #expect(counts.rooms["r"] == RoomCount(elements: 2, unseenElements: 4))
    }

    @Test("events of other people's rooms are not recorded")
    func foreign() {
        var counts = counts()
        let version = counts.version
        counts.apply(Given.newGlobal("m1", in: "x"))
        counts.apply(Given.elements(.created, "e1", in: "x", count: 1, rev: 1))
        counts.apply(.badges(roomID: "x", badges: .init(messages: 1), hasUnread: true))
        #expect(counts.rooms.keys.sorted() == ["r"])
        #expect(counts.version == version)
    }

    @Test("an answer older than later events does not undo them")
    func overtaken() {
        var counts = counts()
        counts.apply(Given.elements(.created, "e1", count: 3, rev: 1))
        counts.load([Given.room("r", elements: 2), Given.room("s")], keeping: ["r"])
        #expect(counts.rooms["r"] == RoomCount(elements: 3, unseenElements: 1))
        #expect(counts.rooms["s"] == RoomCount())
        counts.load([Given.room("s")])
        #expect(counts.rooms.keys.sorted() == ["s"])
    }

    @Test("an answer without message counts keeps the unread count, and does not count its last message")
    func degraded() {
        var counts = counts(Given.room("r", badges: .init(messages: 1)))
        counts.load(Given.room("r", elements: 4, last: Given.last("m9")), degraded: ["messaging"])
        #expect(counts.rooms["r"] == RoomCount(elements: 4, unreadMessages: 1))
        counts.apply(Given.newGlobal("m9"))
        #expect(counts.rooms["r"]?.unreadMessages == 2)
    }

    @Test("a message whose receipt is on its way is not shown, in whatever order the server's events follow")
    func receipts() {
        let read = RoomEvent.messagesRead(roomID: "r", userID: "me", messageIDs: ["m1"], readAt: Given.start)
        let badges = RoomEvent.badges(roomID: "r", badges: .init(messages: 4), hasUnread: true)
        for events in [[read, badges], [badges, read], [badges]] {
            var counts = counts(Given.room("r", badges: .init(messages: 5)))
            counts.note(.collected(["m1"]), in: "r")
            #expect(counts.shown["r"]?.unreadMessages == 4 && counts.rooms["r"]?.unreadMessages == 5)
            counts.note(.sent(["m1"]), in: "r")
            #expect(counts.shown["r"]?.unreadMessages == 4)
            for event in events {
                counts.apply(event)
                #expect(counts.shown["r"]?.unreadMessages == 4)
            }
            #expect(counts.rooms["r"]?.unreadMessages == 4)
        }
    }

    @Test("a message whose receipt is refused is unread again, and so is one after a count that lacks the receipt")
    func refusedReceipts() {
        var counts = counts(Given.room("r", badges: .init(messages: 5)))
        counts.note(.collected(["m1", "m2"]), in: "r")
        counts.load([Given.room("r", badges: .init(messages: 5))])
        #expect(counts.shown["r"]?.unreadMessages == 3)
        counts.note(.refused(["m1"]), in: "r")
        #expect(counts.shown["r"]?.unreadMessages == 4)
    }

    @Test("the version rises with each change, and only then")
    func version() {
        var counts = counts()
        let version = counts.version
        counts.load([Given.room("r", elements: 2)])
        counts.apply(Given.elements(.updated, "e1", count: 2, rev: 1))
        #expect(counts.version == version)
        counts.apply(Given.elements(.created, "e1", count: 3, rev: 2))
        #expect(counts.version > version)
    }
}

import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("ListChange", .timeLimit(.minutes(1)))
struct ListChangeTests {
    private struct Item: Identifiable, Equatable, Sendable {
        let id: Character
        var version = 0
    }

    /// A letter is an item; a capital is the same item with another content.
    private func items(_ text: String) -> [Item] {
        text.map { Item(id: Character($0.lowercased()), version: $0.isUppercase ? 1 : 0) }
    }

    @Test(
        "a change has what was inserted, removed, moved and updated, and no more",
        arguments: [
            ("abc", "abc", "", "", "", ""), ("", "ab", "ab", "", "", ""), ("ab", "", "", "ab", "", ""),
            ("abcd", "dabc", "", "", "d", ""), ("abcd", "bcda", "", "", "a", ""), ("abcd", "aBcd", "", "", "", "b"),
            ("abcd", "Dabc", "", "", "d", "d"), ("abcd", "xbca", "x", "d", "a", ""), ("abc", "abcde", "de", "", "", ""),
            ("abc", "xyabc", "xy", "", "", ""), ("abcdef", "acebdf", "", "", "ce", ""),
        ])
    func parts(
        before: String, after: String, inserted: String, removed: String, moved: String, updated: String
    ) {
        let change = ListChange(from: items(before), to: items(after))
        #expect(change.items == items(after))
        let parts = [change.inserted, change.removed, change.moved.sorted(), change.updated].map { String($0) }
        #expect(parts == [inserted, removed, moved, updated])
    }

    @Test("a change applied to the list before gives the list after, for random lists")
    func random() {
        var random = SeededGenerator(seed: 7)
        var list = items("abcdefghij")
        for _ in 0..<300 {
            var next = list.filter { _ in Int.random(in: 0..<6, using: &random) > 0 }
            for letter in items("abcdefghijklmno") where !next.contains(where: { $0.id == letter.id }) {
                if Bool.random(using: &random) { continue }
                next.insert(letter, at: Int.random(in: 0...next.count, using: &random))
            }
            if let index = next.indices.randomElement(using: &random) { next[index].version += 1 }
            if Bool.random(using: &random) { next.shuffle(using: &random) }
            let change = ListChange(from: list, to: next)
            var ids = list.map(\.id).filter { !change.removed.contains($0) && !change.moved.contains($0) }
            let placed = Set(change.inserted + change.moved)
            for (index, item) in next.enumerated() where placed.contains(item.id) { ids.insert(item.id, at: index) }
            #expect(ids == next.map(\.id))
            let before = Dictionary(uniqueKeysWithValues: list.map { ($0.id, $0) })
            #expect(change.updated == next.filter { item in before[item.id].map { $0 != item } ?? false }.map(\.id))
            list = next
        }
    }

    @Test("in a long chat, a receipt, a new message, an older page and a deletion are each one change")
    func messages() throws {
        var store = MessageStore(roomID: "room", ownID: "me", readership: .of("me", "ada", "ben"))
        store.merge(Page(items: (501...1_500).map { sample($0, from: "me") }, next: "501"), asked: .newest)
        func change(_ body: (inout MessageStore) -> Void) -> ListChange<MessageItems> {
            let before = store.items
            body(&store)
            return ListChange(from: before, to: store.items)
        }
        let read = RoomEvent.messagesRead(
            roomID: "room", userID: "ada", messageIDs: ["m700"], readAt: Date(timeIntervalSince1970: 1))
        let receipt = change { $0.apply(read) }
        #expect(receipt.updated.count == 1 && receipt.inserted + receipt.removed + receipt.moved == [])
        let page = Page(items: (401...500).map { sample($0, from: "me") }, next: "401")
        let older = change { $0.merge(page, asked: .before(501)) }
        #expect(older.inserted.count == 100 && older.updated + older.removed + older.moved == [])
        let deleted = change { $0.delete("m900") }
        #expect(deleted.removed.count == 1 && deleted.updated + deleted.inserted + deleted.moved == [])
        let typed = change { $0.addPending(PendingMessage(tempID: "t", text: "Hi", createdAt: Date())) }
        #expect(typed.inserted == ["t"] && typed.updated + typed.removed + typed.moved == [])
        let stored = change { $0.confirm("t", as: sample(1_501, from: "me")) }
        #expect(stored.inserted.count + stored.removed.count == 2 || stored.updated == ["t"])
    }

    @Test("the rooms' changes begin with all rooms, and then name the one that moves to the top")
    func rooms() async throws {
        let home = try AdasDevice()
        let other = try home.server.makeRoom(by: home.ben.id, with: home.ada.id, name: "Trips")
        let client = try await home.connected()
        var changes = ObservedValues { client.rooms.rooms }.changes.makeAsyncIterator()
        #expect(await changes.next()?.inserted == [other, home.roomID])
        try home.server.post("Hello", in: home.roomID, by: home.ben.id)
        var seen: [ListChange<[Room]>] = []
        while seen.last?.items.first?.badges.messages != 1 { seen.append(try #require(await changes.next())) }
        #expect(seen.flatMap(\.moved) == [home.roomID] && Set(seen.flatMap(\.updated)) == [home.roomID])
        #expect(seen.flatMap(\.inserted) + seen.flatMap(\.removed) == [])
        await client.stop()
    }
}

import ClientTestSupport
import ParlorClient
import Testing

@testable import ScreenModels

@MainActor
@Suite("What previews show", .timeLimit(.minutes(1)))
struct PreviewWorldTests {
    @Test("the first room has a chat to scroll in and a board; two rooms of one pair differ by name and time")
    func rooms() async throws {
        let world = PreviewWorld()
        let room = try #require(await world.start())
        #expect(room.visibleName == "Kitchen" && room.elementCount == 2 && room.badges.messages == 1)
        let others = world.client.rooms.rooms.filter { $0.others(besides: world.ada.id) == "Ben" }
        #expect(others.count == 2 && others.count { $0.visibleName == nil } == 1)
        let conversation = world.client.openConversation(room)
        await until { conversation.isVerified }
        #expect(conversation.items.count == 41 && conversation.firstUnread != nil)
        await world.client.stop()
    }

    @Test("the people without rooms fill more than one page, and a name finds those who begin with it")
    func people() async throws {
        let world = PreviewWorld()
        _ = await world.start()
        let people = world.client.rooms.peopleWithoutRooms
        await people.search("")
        #expect(people.hasMore)
        await people.loadMore()
        #expect(people.people.count == 60 && !people.hasMore)
        await people.search("Guest 1")
        #expect(!people.people.isEmpty && people.people.allSatisfy { $0.matches("guest 1") })
        #expect(!people.people.contains { $0.matches("guest 2") })
        await world.client.stop()
    }

    @Test("of many participants two are named, and the others counted")
    func names() async throws {
        let world = PreviewWorld()
        var room = try #require(await world.start())
        room.participants += ["Carol", "Dan"].map {
            .init(userID: $0, username: $0, joinedAt: room.createdAt, isPresent: false)
        }
        room.participantCount = 4
        #expect(room.others(besides: world.ada.id) == "Ben, Carol, Dan")
        room.participantCount = 7
        #expect(room.others(besides: world.ada.id) == "Ben, Carol +4")
        await world.client.stop()
    }

    @Test("a name of blanks is none")
    func blankName() async throws {
        let world = PreviewWorld()
        var room = try #require(await world.start())
        room.name = " \u{a0}"
        #expect(room.visibleName == nil)
        #expect(room.name(of: world.ben.id) == "Ben" && room.name(of: "nobody") == nil)
        await world.client.stop()
    }
}

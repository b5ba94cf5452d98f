import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of members that this version does not know: rooms and messages keep them unchanged, also on disk.
@Suite("Unknown members")
struct UnknownMembersTests {
    private struct Poll: Codable, Equatable {
        var question: String
        var endsAt: Date
    }

    private let room = """
        {"id":"r1","displayName":"Garden","createdAt":"2024-12-17T09:45:00Z","elementCount":1,
         "badges":{"messages":1,"elements":0,"polls":2,"dice":0,"odd":"x","text":null},"hasUnread":true,
         "pollCount":3,"poll":{"question":"Lunch?","endsAt":"2024-12-17T09:45:00.250Z"},"none":null}
        """

    private func again<Model: Codable>(_ model: Model) throws -> Model {
        try JSONDecoder().decode(Model.self, from: JSONEncoder().encode(model))
    }

    @Test("a room has the badges and fields of plugins, and a badge that is no number is left out")
    func rooms() throws {
        let room = try decoded(Room.self, room)
        #expect(room.badges == .init(messages: 1, others: ["polls": 2, "dice": 0]))
        #expect(["messages", "elements", "polls", "none"].map { room.badges[$0] } == [1, 0, 2, 0])
        #expect(room.extras.keys.sorted() == ["none", "poll", "pollCount"])
        #expect(room.extras["pollCount"]?.integer == 3 && room.extras["none"] == .null)
        #expect(try again(room) == room)
    }

    @Test("a message has the members that this version does not know, and none else")
    func messages() throws {
        let message = try decoded(Message.self, DecodingTests.message)
        #expect(message.extras == ["later": ["unknown": .array([.integer(1)])]])
        #expect(try again(message) == message)
        let known = try decoded(
            Message.self,
            """
            {"id":"m1","roomId":"r1","seq":7,"senderId":"u1","sender":null,"receiverId":"u2","text":"a","content":"a",
             "createdAt":"2024-12-17T09:45:00.250Z","readStatus":true,"isRead":true,"readBy":[],"tempId":null}
            """)
        #expect(known.extras.isEmpty)
    }

    @Test("a person has them, alone and with rooms")
    func people() throws {
        let person = try decoded(Person.self, #"{"id":"u1","username":"ada","status":{"text":"away"}}"#)
        #expect(person.extras == ["status": ["text": .string("away")]])
        #expect(try again(person) == person)
        let group = try decoded(PersonWithRooms.self, #"{"id":"u1","username":"ada","level":3,"rooms":[\#(room)]}"#)
        #expect(group.person.extras == ["level": .integer(3)] && group.rooms.map(\.id) == ["r1"])
        #expect(try again(group) == group)
    }

    @Test("a member that Foundation cannot decode is left out, and the rest of the room is there")
    func undecodable() throws {
        let room = try decoded(
            Room.self, #"{"id":"r1","createdAt":"2024-12-17T09:45:00Z","pollCount":3,"much":1e400,"deep":[1e400]}"#)
        #expect(room.id == "r1" && room.extras == ["pollCount": .integer(3)])
    }

    @Test("a value decodes as a type of the app, with the server's times, and is made from one")
    func values() throws {
        let poll = try #require(try decoded(Room.self, room).extras["poll"])
        let expected = Poll(question: "Lunch?", endsAt: someTime + 0.25)
        #expect(try poll.decoded() == expected)
        #expect(try JSON(encoding: expected) == poll)
        #expect(try JSON(encoding: poll) == poll)
        let failure = #expect(throws: ClientFailure.self) { try JSON.object([:]).decoded(as: Poll.self) }
        #expect(failure?.code == "unreadable")
        #expect(throws: ClientFailure.self) { try JSON(encoding: Date.distantFuture.addingTimeInterval(1e15)) }
        #expect(throws: ClientFailure.self) { try JSON(encoding: Double.nan) }
    }

    @Test("the accessors of a value have it if it is of their kind")
    func accessors() {
        #expect(JSON.bool(true).bool == true && JSON.integer(1).bool == nil)
        #expect(JSON.integer(1).integer == 1 && JSON.number(1.5).integer == nil)
        #expect(JSON.integer(1).number == 1 && JSON.number(1.5).number == 1.5 && JSON.null.number == nil)
        #expect(JSON.array([.null]).array == [.null] && JSON.null.array == nil)
        #expect(JSON.object(["a": .null]).object == ["a": .null] && JSON.null.object == nil)
    }

    @Test("a known name among the extras is not encoded twice")
    func knownNames() throws {
        var room = try decoded(Room.self, room)
        room.extras["displayName"] = .string("other")
        room.badges.others["messages"] = 9
        let read = try again(room)
        #expect(read.displayName == "Garden" && read.extras["displayName"] == nil)
        #expect(read.badges.messages == 1 && read.badges.others["messages"] == nil)
    }

    @Test("a list on disk keeps them, and one of an older version is read")
    func cache() async throws {
        let folder = TemporaryFolder()
        let room = try decoded(Room.self, room)
        await RoomListCache(files: RoomFiles(folder: folder.url)).keep([room])
        #expect(await RoomListCache(files: RoomFiles(folder: folder.url)).rooms() == [room])
        // This is a file of version 1 from before it kept unknown members.
        let older = """
            {"format":1,"generation":"g","rooms":[{"id":"r1","displayName":"Garden","createdBy":"u1","createdAt":0,
             "updatedAt":0,"lastActivityAt":0,"lastActivityType":"message","isActive":false,"participants":[],
             "elementCount":1,"badges":{"messages":1,"elements":2},"hasUnread":true}]}
            """
        try Data(older.utf8).write(to: folder.url.appending(path: "rooms.json"))
        let rooms = await RoomListCache(files: RoomFiles(folder: folder.url)).rooms()
        #expect(rooms.map(\.badges) == [.init(messages: 1, elements: 2)])
        #expect(rooms.map(\.extras) == [[:]])
    }

    @Test("a room's cached messages keep them")
    func messageCache() async throws {
        let folder = TemporaryFolder()
        let message = try decoded(Message.self, DecodingTests.message)
        func cache() -> MessageCache { MessageCache(files: RoomFiles(folder: folder.url), clock: TestClock()) }
        let first = cache()
        _ = await first.openRoom("r1")
        await first.keep([message], of: "r1")
        #expect(await cache().openRoom("r1") == [message])
    }
}

import Foundation
import Testing

@testable import ParlorClient

let someTime = Date(timeIntervalSince1970: 1_734_428_700)

func decoded<Value: Decodable>(_ type: Value.Type = Value.self, _ json: String) throws -> Value {
    try ServerDecoder().decode(type, from: Data(json.utf8))
}

@Suite("Decoding")
struct DecodingTests {
    static let message = """
        {"id":"m1","roomId":"r1","seq":7,"senderId":"u1",
         "sender":{"id":"u1","username":"ada","firstName":"Ada"},"receiverId":"u2","text":"Hello","content":"Hello",
         "createdAt":"2024-12-17T09:45:00.250Z","readStatus":true,
         "readBy":[{"userId":"u2","readAt":"2024-12-17T09:45:01.000Z"}],"tempId":"t1","later":{"unknown":[1]}}
        """

    @Test("a message of the contract is decoded")
    func wholeMessage() throws {
        let expected = Message(
            id: "m1", roomID: "r1", seq: 7, senderID: "u1", sender: Person(id: "u1", username: "ada", firstName: "Ada"),
            text: "Hello", createdAt: someTime + 0.25, readBy: [.init(userID: "u2", readAt: someTime + 1)],
            isRead: true, tempID: "t1", extras: ["later": ["unknown": .array([.integer(1)])]])
        #expect(try decoded(Message.self, Self.message) == expected)
    }

    @Test("a message of the older model is decoded: content, receiverId and readStatus only")
    func olderMessage() throws {
        let json = """
            {"id":"m1","senderId":"u1","receiverId":"u2","content":"Hello","createdAt":"2024-12-17T09:45:00Z",
             "readStatus":false}
            """
        #expect(
            try decoded(Message.self, json)
                == Message(id: "m1", roomID: "", seq: 0, senderID: "u1", text: "Hello", createdAt: someTime))
    }

    @Test("a message may have only a sender object, and null for absent fields")
    func senderAlone() throws {
        let json = """
            {"id":"m1","roomId":"r1","sender":{"id":"u1","username":"ada"},"text":"Hi","tempId":null,"readBy":null,
             "createdAt":"2024-12-17T09:45:00Z"}
            """
        let message = try decoded(Message.self, json)
        #expect(message.senderID == "u1" && message.readBy.isEmpty && !message.isRead && message.tempID == nil)
    }

    @Test("a message without text, sender or time is invalid")
    func noMessage() {
        for json in [
            #"{"id":"m1","senderId":"u1","createdAt":"2024-12-17T09:45:00Z"}"#,
            #"{"id":"m1","text":"a","createdAt":"2024-12-17T09:45:00Z"}"#,
            #"{"id":"m1","senderId":"u1","text":"a","createdAt":"soon"}"#, "[]", "",
        ] {
            #expect(throws: ClientFailure.self) { try decoded(Message.self, json) }
        }
    }

    @Test("models decode as they were encoded, for caches")
    func roundTrip() throws {
        let message = try decoded(Message.self, Self.message)
        let room = try decoded(Room.self, Self.room)
        let element = try decoded(Element.self, Self.element)
        func again<Model: Codable>(_ model: Model) throws -> Model {
            try JSONDecoder().decode(Model.self, from: JSONEncoder().encode(model))
        }
        #expect(try again(message) == message)
        #expect(try again(room) == room)
        #expect(try again(element) == element)
    }

    static let room = """
        {"id":"r1","kind":"group","name":"Garden","displayName":"Garden","createdBy":"u1","createdAt":"2024-12-17T09:45:00Z",
         "updatedAt":"2024-12-17T09:46:00Z","messagesUpdatedAt":"2024-12-17T09:47:00Z",
         "lastActivityAt":"2024-12-17T09:47:00.500Z","lastActivityType":"message","isActive":true,
         "participants":[{"userId":"u1","username":"ada","firstName":null,"joinedAt":"2024-12-17T09:45:00Z",
         "role":"owner","isPresent":true}],"participantCount":12,"elementCount":3,"unseenElementCount":2,"badges":{"messages":1,"elements":2},
         "hasUnread":true,"lastMessage":{"id":"m1","senderId":"u2","text":"Hi","createdAt":"2024-12-17T09:47:00.500Z"}}
        """

    @Test("a room of the contract is decoded")
    func wholeRoom() throws {
        let expected = Room(
            id: "r1", kind: .group, name: "Garden", displayName: "Garden", createdBy: "u1", createdAt: someTime,
            updatedAt: someTime + 60, messagesUpdatedAt: someTime + 120, lastActivityAt: someTime + 120.5,
            lastActivityType: .message, isActive: true,
            participants: [
                .init(userID: "u1", username: "ada", joinedAt: someTime, role: .owner, isPresent: true)
            ], participantCount: 12, elementCount: 3, badges: .init(messages: 1, elements: 2), hasUnread: true,
            lastMessage: .init(id: "m1", senderID: "u2", text: "Hi", createdAt: someTime + 120.5))
        #expect(try decoded(Room.self, Self.room) == expected)
    }

    @Test("fields that an older server leaves out of a room are derived from the others")
    func olderRoom() throws {
        let json = """
            {"id":"r1","createdAt":"2024-12-17T09:45:00.000Z","messagesUpdatedAt":"2024-12-17T09:45:01Z",
             "unseenElementCount":4,"participants":[{"userId":"u1","username":"ada","firstName":"Ada"},
             {"userId":"u2","username":"bob","firstName":" "}]}
            """
        let room = try decoded(Room.self, json)
        #expect(room.displayName == "Ada & bob" && room.updatedAt == someTime)
        #expect(room.lastActivityAt == someTime + 1 && room.lastActivityType == .message)
        #expect(room.badges == .init(messages: 0, elements: 4) && room.hasUnread)
        #expect(room.kind == .direct && room.participantCount == 2)
        #expect(room.participants.allSatisfy { $0.role == .member })
    }

    @Test("an unknown kind or activity, an empty name, and a room without people are decoded")
    func oddRoom() throws {
        let json = """
            {"id":"r1","kind":"stage","name":"","createdAt":"2024-12-17T09:45:00Z","lastActivityType":"dance","badges":{}}
            """
        let room = try decoded(Room.self, json)
        #expect(room.title(unnamed: "Sans nom") == "Sans nom" && room.name == nil)
        #expect(
            room.kind == .group && room.lastActivityType == .roomUpdate && room.badges == .init() && !room.hasUnread)
    }

    static let element = """
        {"id":"e1","roomId":"r1","type":"note","content":{"text":"a","n":[1,2.5,null,true]},
         "position":{"x":1,"y":-2.5},"createdBy":"u1","createdAt":"2024-12-17T09:45:00.000Z","updatedBy":"u2",
         "updatedAt":"2024-12-17T09:45:01.000Z","version":2,"tempId":null}
        """

    @Test("an element is decoded, also without the fields that older servers omit")
    func elements() throws {
        let content: JSON = ["text": .string("a"), "n": .array([.integer(1), .number(2.5), .null, .bool(true)])]
        let expected = Element(
            id: "e1", roomID: "r1", type: "note", content: content, position: .init(x: 1, y: -2.5), createdBy: "u1",
            createdAt: someTime, updatedBy: "u2", updatedAt: someTime + 1, version: 2)
        #expect(try decoded(Element.self, Self.element) == expected)
        let bare = #"{"id":"e1","roomId":"r1","type":"note","createdBy":"u1","createdAt":"2024-12-17T09:45:00Z"}"#
        let element = try decoded(Element.self, bare)
        #expect(element.updatedBy == "u1" && element.updatedAt == someTime && element.version == 1)
        #expect(element.content == .object([:]) && element.position == nil)
    }

    @Test("a person is decoded with rooms, and without a username")
    func people() throws {
        let person = try decoded(PersonWithRooms.self, #"{"id":"u1","username":"ada","rooms":[\#(Self.room)]}"#)
        #expect(person.id == "u1" && person.rooms.map(\.id) == ["r1"])
        #expect(try decoded(Person.self, #"{"id":"u1"}"#) == Person(id: "u1", username: ""))
    }
}

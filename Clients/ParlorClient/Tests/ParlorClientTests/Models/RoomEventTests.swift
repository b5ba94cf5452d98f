import Foundation
import ParlorClient
import Testing

@Suite("Decoding events")
struct RoomEventTests {
    private static let time = #""2024-12-17T09:45:00.000Z""#

    private func event(_ name: String, _ json: String) -> RoomEvent {
        RoomEvent.decode(name: name, data: Data(json.utf8))
    }

    private func expect(_ name: String, _ json: String, _ expected: RoomEvent) {
        #expect(event(name, json) == expected, "\(name)")
        #expect(event(name, "[]") == .unknown(name: name, data: .array([])), "\(name) with a payload that is none")
        #expect(event(name, "{}") == .unknown(name: name, data: [:]), "\(name) with an empty payload")
    }

    @Test("an older server's message gets the room id of its event")
    func olderMessage() {
        let older = #"{"id":"m1","senderId":"u1","content":"Hello","createdAt":\#(Self.time)}"#
        let event = event("message:new", #"{"roomId":"r1","message":\#(older)}"#)
        #expect(
            event
                == .messageNew(
                    Message(id: "m1", roomID: "r1", seq: 0, senderID: "u1", text: "Hello", createdAt: someTime)))
    }

    @Test("events to a room are decoded")
    func room() throws {
        let message = try decoded(Message.self, DecodingTests.message)
        let element = try decoded(Element.self, DecodingTests.element)
        expect("message:new", #"{"message":\#(DecodingTests.message)}"#, .messageNew(message))
        expect("message:new", DecodingTests.message, .messageNew(message))
        expect(
            "message:deleted", #"{"roomId":"r","messageId":"m","deletedBy":"u"}"#,
            .messageDeleted(roomID: "r", messageID: "m", deletedBy: "u"))
        expect(
            "message:typing", #"{"roomId":"r","userId":"u","isTyping":true}"#,
            .typing(roomID: "r", userID: "u", isTyping: true))
        expect(
            "messages:read", #"{"roomId":"r","userId":"u","messageIds":["m","n"],"readAt":\#(Self.time)}"#,
            .messagesRead(roomID: "r", userID: "u", messageIDs: ["m", "n"], readAt: someTime))
        expect("element:created", #"{"element":\#(DecodingTests.element)}"#, .elementCreated(element))
        expect("element:updated", #"{"element":\#(DecodingTests.element)}"#, .elementUpdated(element))
        expect(
            "element:deleted", #"{"roomId":"r","elementId":"e","deletedBy":"u"}"#,
            .elementDeleted(roomID: "r", elementID: "e", deletedBy: "u"))
        expect("room:cleared", #"{"roomId":"r","clearedBy":"u"}"#, .roomCleared(roomID: "r", clearedBy: "u"))
        expect(
            "room:updated", #"{"room":{"id":"r","name":null,"updatedAt":"2024-12-17T09:45:00Z"}}"#,
            .roomUpdated(roomID: "r", name: nil, updatedAt: someTime))
        expect(
            "room:presence", #"{"roomId":"r","userId":"u","isPresent":false}"#,
            .presence(roomID: "r", userID: "u", isPresent: false))
        let seconds = #""2024-12-17T09:45:00Z""#
        let person = #"{"userId":"u","username":"ada","firstName":null,"joinedAt":\#(seconds),"role":"owner"}"#
        let participant = Room.Participant(
            userID: "u", username: "ada", joinedAt: someTime, role: .owner, isPresent: false)
        expect(
            "participant:joined", #"{"roomId":"r","participant":\#(person),"addedBy":"v","updatedAt":\#(seconds)}"#,
            .participantJoined(roomID: "r", participant, addedBy: "v", updatedAt: someTime))
        expect(
            "participant:updated", #"{"roomId":"r","participant":\#(person)}"#,
            .participantUpdated(roomID: "r", participant))
        expect(
            "participant:left", #"{"roomId":"r","userId":"u","removedBy":"v","updatedAt":\#(seconds)}"#,
            .participantLeft(roomID: "r", userID: "u", removedBy: "v", updatedAt: someTime))
    }

    @Test("events to everyone are decoded")
    func global() {
        expect(
            "message:new:global", #"{"roomId":"r","messageId":"m","senderId":"u","messagesUpdatedAt":\#(Self.time)}"#,
            .messageNewGlobal(roomID: "r", messageID: "m", senderID: "u", messagesUpdatedAt: someTime))
        expect(
            "message:deleted:global",
            #"{"roomId":"r","messageId":"m","deletedBy":"u","messagesUpdatedAt":\#(Self.time)}"#,
            .messageDeletedGlobal(roomID: "r", messageID: "m", deletedBy: "u", messagesUpdatedAt: someTime))
        expect(
            "room:created:global", #"{"roomId":"r","createdBy":"u"}"#, .roomCreatedGlobal(roomID: "r", createdBy: "u"))
        expect(
            "room:updated:global", #"{"roomId":"r","updatedBy":"u","updatedAt":\#(Self.time)}"#,
            .roomUpdatedGlobal(roomID: "r", updatedBy: "u", updatedAt: someTime))
    }

    @Test("element events to everyone are decoded, with counts, and without those of older servers")
    func elementsGlobal() {
        let kinds: [(name: String, by: String, kind: RoomEvent.ElementsChange.Kind)] = [
            ("element:created:global", "createdBy", .created), ("element:updated:global", "updatedBy", .updated),
            ("element:deleted:global", "deletedBy", .deleted), ("room:cleared:global", "clearedBy", .cleared),
        ]
        for (name, by, kind) in kinds {
            let id = kind == .cleared ? "" : #""elementId":"e","#
            var change = RoomEvent.ElementsChange(
                kind: kind, roomID: "r", elementID: kind == .cleared ? nil : "e", userID: "u", updatedAt: someTime)
            let older = #"{"roomId":"r",\#(id)"\#(by)":"u","updatedAt":\#(Self.time)"#
            expect(name, older + "}", .elementsChangedGlobal(change))
            change.elementCount = 3
            change.rev = 9
            expect(name, older + #","elementCount":3,"rev":9}"#, .elementsChangedGlobal(change))
        }
    }

    @Test("events to the person are decoded")
    func person() throws {
        expect(
            "room:created", #"{"room":\#(DecodingTests.room)}"#,
            .roomCreated(try decoded(Room.self, DecodingTests.room)))
        expect("room:removed", #"{"roomId":"r","removedBy":null}"#, .roomRemoved(roomID: "r", removedBy: nil))
        expect(
            "room:badges", #"{"roomId":"r","badges":{"messages":2,"elements":0},"hasUnread":true}"#,
            .badges(roomID: "r", badges: .init(messages: 2, elements: 0), hasUnread: true))
        expect(
            "room:badges", #"{"roomId":"r","badges":{"messages":0,"elements":0,"polls":2}}"#,
            .badges(roomID: "r", badges: .init(others: ["polls": 2]), hasUnread: true))
        expect(
            "request:error", #"{"event":"message:send","error":{"code":"rate_limited","message":"Slower."}}"#,
            .requestFailed(
                event: "message:send", Refusal(code: "rate_limited", message: "Slower.", isRetryable: true)))
    }

    @Test("unknown and malformed events become `unknown`, with their whole payload")
    func unknown() {
        let data: JSON = ["pollId": .string("p"), "choices": .array([["votes": .integer(1)], .null])]
        #expect(
            event("poll:opened", #"{"pollId":"p","choices":[{"votes":1},null]}"#)
                == .unknown(name: "poll:opened", data: data))
        #expect(event("poll:opened", "7") == .unknown(name: "poll:opened", data: .integer(7)))
        #expect(event("poll:opened", "null") == .unknown(name: "poll:opened", data: .null))
        let odd: JSON = ["message": .string("none")]
        #expect(event("message:new", #"{"message":"none"}"#) == .unknown(name: "message:new", data: odd))
        #expect(event("message:new", "{") == .unknown(name: "message:new", data: .null))
        for huge in ["1e400", #"{"value":1e400}"#, #"[[1e400]]"#] {
            #expect(event("poll:opened", huge) == .unknown(name: "poll:opened", data: .null), "Foundation refuses it")
        }
    }
}

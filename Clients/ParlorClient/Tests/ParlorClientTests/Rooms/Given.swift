import Foundation
import ParlorClient

/// Makes rooms and events from the parts that matter to a test.
enum Given {
    static let start = Date(timeIntervalSince1970: 1_734_428_700)

    static func at(_ seconds: Double) -> Date { start.addingTimeInterval(seconds) }

    static func room(
        _ id: String, with others: [String] = ["bob"], updatedAt: Double = 0, messagesUpdatedAt: Double? = nil,
        elements: Int = 0, badges: Room.Badges = .init(), last: Room.LastMessage? = nil
    ) -> Room {
        let messages = messagesUpdatedAt.map(at)
        let isMessage = messages.map { $0 > at(updatedAt) } ?? false
        return Room(
            id: id, displayName: "me & " + others.joined(separator: " & "), createdBy: "me", createdAt: start,
            updatedAt: at(updatedAt), messagesUpdatedAt: messages,
            lastActivityAt: max(at(updatedAt), messages ?? .distantPast),
            lastActivityType: isMessage ? .message : .roomUpdate,
            participants: (["me"] + others).map {
                .init(userID: $0, username: $0, joinedAt: start, isPresent: false)
            }, elementCount: elements, badges: badges, hasUnread: badges.messages + badges.elements > 0,
            lastMessage: last)
    }

    static func last(_ id: String, at seconds: Double = 0) -> Room.LastMessage {
        .init(id: id, senderID: "bob", text: id, createdAt: at(seconds))
    }

    static func message(_ id: String, in roomID: String, from sender: String = "bob", at seconds: Double = 0) -> Message
    {
        Message(id: id, roomID: roomID, seq: 1, senderID: sender, text: id, createdAt: at(seconds))
    }

    static func element(_ id: String, in roomID: String, by creator: String = "bob", at seconds: Double = 0) -> Element
    {
        Element(
            id: id, roomID: roomID, type: "note", content: .object([:]), createdBy: creator, createdAt: at(seconds),
            updatedBy: creator, updatedAt: at(seconds), version: 1)
    }

    static func elements(
        _ kind: RoomEvent.ElementsChange.Kind, _ id: String? = nil, in roomID: String = "r", by userID: String = "bob",
        at seconds: Double = 0, count: Int? = nil, rev: Int? = nil
    ) -> RoomEvent {
        .elementsChangedGlobal(
            .init(
                kind: kind, roomID: roomID, elementID: id, userID: userID, updatedAt: at(seconds), elementCount: count,
                rev: rev))
    }

    static func newGlobal(
        _ id: String, in roomID: String = "r", from sender: String = "bob", at seconds: Double = 0
    ) -> RoomEvent {
        .messageNewGlobal(roomID: roomID, messageID: id, senderID: sender, messagesUpdatedAt: at(seconds))
    }
}

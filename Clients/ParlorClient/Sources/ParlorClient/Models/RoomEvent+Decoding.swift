import Foundation

extension RoomEvent {
    /// Decodes an event's payload. An event with an unknown name or an unreadable payload becomes `unknown`.
    package static func decode(name: String, data: Data, using decoder: ServerDecoder = ServerDecoder()) -> RoomEvent {
        do throws(ClientFailure) {
            return try decoder.decode(DecodedEvent.self, from: data, configuration: name).event
        } catch {
            // `try?`: the payload may not even be JSON.
            return .unknown(name: name, data: (try? decoder.decode(JSON.self, from: data)) ?? .null)
        }
    }
}

/// An event's payload, decoded by the event's name.
struct DecodedEvent: DecodableWithConfiguration {
    let event: RoomEvent

    /// - Parameter name: the event's name.
    init(from decoder: any Decoder, configuration name: String) throws {
        let fields = Fields(members: try decoder.container(keyedBy: Fields.Name.self))
        let known =
            try Self.toRoom(name, fields, decoder) ?? Self.toEveryone(name, fields) ?? Self.toPerson(name, fields)
        if let known {
            event = known
        } else {
            event = .unknown(name: name, data: try JSON(from: decoder))
        }
    }

    private static func toRoom(_ name: String, _ fields: Fields, _ decoder: any Decoder) throws -> RoomEvent? {
        switch name {
        case "message:new":
            // Some older servers send the message itself.
            let message: Message = try fields["message"] ?? Message(from: decoder)
            return .messageNew(message.inRoom(try fields["roomId"] ?? ""))
        case "message:deleted":
            return .messageDeleted(
                roomID: try fields.room(), messageID: try fields("messageId"), deletedBy: try fields("deletedBy"))
        case "message:typing":
            return .typing(
                roomID: try fields.room(), userID: try fields("userId"), isTyping: try fields("isTyping"))
        case "messages:read":
            return .messagesRead(
                roomID: try fields.room(), userID: try fields("userId"), messageIDs: try fields("messageIds"),
                readAt: try fields("readAt"))
        case "element:created":
            return .elementCreated(try fields("element"))
        case "element:updated":
            return .elementUpdated(try fields("element"))
        case "element:deleted":
            return .elementDeleted(
                roomID: try fields.room(), elementID: try fields("elementId"), deletedBy: try fields("deletedBy"))
        case "room:cleared":
            return .roomCleared(roomID: try fields.room(), clearedBy: try fields("clearedBy"))
        case "room:updated":
            let room: RenamedRoom = try fields("room")
            return .roomUpdated(roomID: room.id, name: room.name, updatedAt: room.updatedAt)
        case "room:presence":
            return .presence(
                roomID: try fields.room(), userID: try fields("userId"), isPresent: try fields("isPresent"))
        case "participant:joined":
            return .participantJoined(
                roomID: try fields.room(), try fields("participant"), addedBy: try fields("addedBy"),
                updatedAt: try fields("updatedAt"))
        case "participant:left":
            return .participantLeft(
                roomID: try fields.room(), userID: try fields("userId"), removedBy: try fields["removedBy"],
                updatedAt: try fields("updatedAt"))
        case "participant:updated":
            return .participantUpdated(roomID: try fields.room(), try fields("participant"))
        default:
            return nil
        }
    }

    private static func toEveryone(_ name: String, _ fields: Fields) throws -> RoomEvent? {
        switch name {
        case "message:new:global":
            return .messageNewGlobal(
                roomID: try fields.room(), messageID: try fields("messageId"), senderID: try fields("senderId"),
                messagesUpdatedAt: try fields("messagesUpdatedAt"))
        case "message:deleted:global":
            return .messageDeletedGlobal(
                roomID: try fields.room(), messageID: try fields("messageId"), deletedBy: try fields("deletedBy"),
                messagesUpdatedAt: try fields("messagesUpdatedAt"))
        case "element:created:global":
            return .elementsChangedGlobal(try fields.change(.created, by: "createdBy"))
        case "element:updated:global":
            return .elementsChangedGlobal(try fields.change(.updated, by: "updatedBy"))
        case "element:deleted:global":
            return .elementsChangedGlobal(try fields.change(.deleted, by: "deletedBy"))
        case "room:cleared:global":
            return .elementsChangedGlobal(try fields.change(.cleared, by: "clearedBy"))
        case "room:created:global":
            return .roomCreatedGlobal(roomID: try fields.room(), createdBy: try fields("createdBy"))
        case "room:updated:global":
            return .roomUpdatedGlobal(
                roomID: try fields.room(), updatedBy: try fields("updatedBy"), updatedAt: try fields("updatedAt"))
        default:
            return nil
        }
    }

    private static func toPerson(_ name: String, _ fields: Fields) throws -> RoomEvent? {
        switch name {
        case "room:created":
            return .roomCreated(try fields("room"))
        case "room:removed":
            return .roomRemoved(roomID: try fields.room(), removedBy: try fields["removedBy"])
        case "room:badges":
            let badges: Room.Badges = try fields("badges")
            return .badges(
                roomID: try fields.room(), badges: badges,
                hasUnread: try fields["hasUnread"] ?? badges.isAnyAboveZero)
        case "request:error":
            let error: SocketError = try fields("error")
            return .requestFailed(event: try fields("event"), error.refusal)
        default:
            return nil
        }
    }

    private struct RenamedRoom: Decodable {
        let id: String
        let name: String?
        let updatedAt: Date
    }

    /// The payload's members by name.
    private struct Fields {
        struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let members: KeyedDecodingContainer<Name>

        func callAsFunction<Value: Decodable>(_ name: String) throws -> Value {
            try members.decode(Value.self, forKey: Name(stringValue: name))
        }

        subscript<Value: Decodable>(name: String) -> Value? {
            get throws { try members.decodeIfPresent(Value.self, forKey: Name(stringValue: name)) }
        }

        func room() throws -> String { try self("roomId") }

        func change(_ kind: RoomEvent.ElementsChange.Kind, by person: String) throws -> RoomEvent.ElementsChange {
            .init(
                kind: kind, roomID: try room(), elementID: kind == .cleared ? nil : try self("elementId"),
                userID: try self(person), updatedAt: try self("updatedAt"),
                elementCount: (try self["elementCount"] as Int?)?.asCount, rev: try self["rev"])
        }
    }
}

/// The form of a refusal on the socket.
struct SocketError: Decodable {
    let code: String
    let message: String?
    /// `request:error` has none.
    let retryable: Bool?

    var refusal: Refusal {
        Refusal(code: code, message: message ?? code, isRetryable: retryable ?? Refusal.isRetryable(code: code))
    }
}

extension Refusal {
    static func isRetryable(code: String) -> Bool {
        ["rate_limited", "service_unavailable", "internal_error"].contains(code)
    }
}

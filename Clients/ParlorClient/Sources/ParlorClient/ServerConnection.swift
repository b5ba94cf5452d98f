import Foundation

/// Sends the requests of conversations and room lists, over the socket or over HTTP.
///
/// Messages, deletions and read receipts go over the socket while it is connected. Without a connection or a reply
/// they go over HTTP. Repeating them is harmless: a repeated message has the same `tempID`. Joins, leaves and
/// typing signals go over the socket only, everything else over HTTP only.
package struct ServerConnection: Sendable {
    let api: RoomsAPI
    let socket: RoomsSocket
    private let listingCache = RoomListingCache()

    package init(api: RoomsAPI, socket: RoomsSocket) {
        self.api = api
        self.socket = socket
    }

    /// Sends an event over the socket, and waits for its ack.
    ///
    /// - Returns: nil if there was no connection, or no ack arrived.
    private func ask(_ event: String, _ payload: JSON) async throws -> Data? {
        do {
            return try await socket.emit(event, payload)
        } catch ClientFailure.offline {
            return nil
        }
    }
}

extension ServerConnection: MessageServer {
    package func join(_ roomID: String, keepingUnseen: Bool) async throws {
        do {
            _ = try await socket.join(roomID, keepingUnseen: keepingUnseen)
        } catch let failure as ClientFailure where failure.isRetryable {
            // Without a connection, the socket joins the room at the next connect.
            if await socket.isConnected { throw failure }
        }
    }

    package func connectionCursor() async -> String? { await socket.connectionCursor }

    package func leave(_ roomID: String) async {
        // Even on an error, the socket does not join the room again.
        try? await socket.leave(roomID)
    }

    package func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message> {
        try await api.messages(in: roomID, before: before, after: after, limit: limit)
    }

    package func send(_ text: String, tempID: String, in roomID: String) async throws -> Message {
        let payload: JSON = ["roomId": .string(roomID), "text": .string(text), "tempId": .string(tempID)]
        guard let answer = try await ask("message:send", payload) else {
            return try await api.send(text, tempID: tempID, in: roomID)
        }
        return try ServerDecoder().decode(SentMessage.self, from: answer).message.inRoom(roomID)
    }

    package func deleteMessage(_ id: String, in roomID: String) async throws {
        let mayBeDone = await socket.isConnected
        let payload: JSON = ["roomId": .string(roomID), "messageId": .string(id)]
        if try await ask("message:delete", payload) != nil { return }
        do {
            try await api.deleteMessage(id, in: roomID)
        } catch ClientFailure.refused(let refusal) where mayBeDone && refusal.code == "message_not_found" {
            // The earlier request deleted it, and only its reply was lost.
        }
    }

    package func markRead(_ ids: [String], in roomID: String) async throws {
        let payload: JSON = ["roomId": .string(roomID), "messageIds": .array(ids.map(JSON.string))]
        if try await ask("messages:mark-read", payload) == nil { try await api.markRead(ids, in: roomID) }
    }

    /// Sends nothing without a connection: HTTP has no such request.
    package func setTyping(_ isTyping: Bool, in roomID: String) async {
        await socket.send("message:typing", ["roomId": .string(roomID), "isTyping": .bool(isTyping)])
    }

    private struct SentMessage: Decodable {
        let message: Message
    }
}

extension ServerConnection: RoomServer {
    package func rooms(sortedBy order: RoomOrder) async throws -> RoomListing {
        try await api.myRooms(sortedBy: order, cachedIn: listingCache)
    }

    package func room(_ id: String) async throws -> RoomAnswer { try await api.room(id) }

    package func peopleWithoutRooms(
        matching prefix: String?, limit: Int?, cursor: String?
    ) async throws -> Page<Person> {
        try await api.peopleWithoutRooms(matching: prefix, limit: limit, cursor: cursor)
    }

    package func makeRoom(with userID: String, name: String?, requestID: String) async throws -> RoomAnswer {
        try await api.makeRoom(with: userID, name: name, requestID: requestID)
    }

    package func makeGroup(with userIDs: [String], name: String?, requestID: String) async throws -> RoomAnswer {
        try await api.makeGroup(with: userIDs, name: name, requestID: requestID)
    }

    package func addPeople(_ userIDs: [String], to roomID: String) async throws -> RoomAnswer {
        try await api.addPeople(userIDs, to: roomID)
    }

    package func removePerson(_ userID: String, from roomID: String) async throws {
        try await api.removePerson(userID, from: roomID)
    }

    package func setRole(_ role: Room.Participant.Role, of userID: String, in roomID: String) async throws -> RoomAnswer
    {
        try await api.setRole(role, of: userID, in: roomID)
    }

    package func rename(_ roomID: String, to name: String) async throws -> RoomAnswer {
        try await api.rename(roomID, to: name)
    }
}

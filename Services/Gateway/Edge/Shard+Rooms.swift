import Contracts
import Edge
import GatewayPresence
import JSON
import MessageBus
import ServiceKit

// What a socket has joined. The gateway does this itself: presence lives where the socket is.
extension Shard {
    /// Joins a room, and leaves the others unless they are to be kept. Returns the ack's members.
    func join(_ fields: RequestFields, _ client: Client, _ origin: RequestOrigin) async throws(ServiceError)
        -> JSONValue?
    {
        let roomID = try fields.string("roomId")
        let keepsOthers = try fields.optionalBool("keepOthers") ?? false
        let composer = context.composer
        let base = try await composer.base(
            of: roomID, origin.context(for: client.caller, key: roomID))
        guard client.isConnected else { return nil }
        // From then on nothing that is sent to the room is missed; then others are told, and the badges are zeroed.
        await joinAudience(of: roomID, client, by: origin.deadline)
        client.life.noteJoin()
        guard client.isConnected else { return nil }
        let left = keepsOthers ? [] : client.rooms.filter { $0 != roomID }
        for other in left { leaveAudience(of: other, client) }
        let presence = context.presence
        let (id, userID) = (client.id, client.caller.id)
        await presence.join(.init(roomID: roomID, userID: userID), socketID: id)
        for other in left { await presence.leave(.init(roomID: other, userID: userID), socketID: id) }
        // A socket that closed meanwhile left its rooms before this join was noted.
        guard client.isConnected else {
            await presence.disconnect(socketID: id)
            return nil
        }
        guard let room = try await composer.compose([base], for: userID, origin, remembering: .some).rooms.first else {
            throw ServiceError(.internal, "Something went wrong on our side.")
        }
        return JSONWriter.object { $0.member("room", room.json) }
    }

    func leave(_ fields: RequestFields, _ client: Client, _ origin: RequestOrigin) async throws(ServiceError) {
        let roomID = try fields.string("roomId")
        guard client.rooms.contains(roomID) else { return try await requireMembership(of: client, in: roomID, origin) }
        leaveAudience(of: roomID, client)
        await context.presence.leave(.init(roomID: roomID, userID: client.caller.id), socketID: client.id)
    }

    func setTyping(_ fields: RequestFields, _ client: Client, _ origin: RequestOrigin) async throws(ServiceError) {
        let roomID = try fields.string("roomId")
        let isTyping = try fields.bool("isTyping")
        if !client.rooms.contains(roomID) { try await requireMembership(of: client, in: roomID, origin) }
        guard client.isConnected else { return }
        let member = RoomMember(roomID: roomID, userID: client.caller.id)
        await context.presence.setTyping(isTyping, member, socketID: client.id)
        if !client.isConnected { await context.presence.disconnect(socketID: client.id) }
    }

    /// A room that exists but is not the caller's is answered as one that does not.
    private func requireMembership(
        of client: Client, in roomID: String, _ origin: RequestOrigin
    ) async throws(ServiceError) {
        let userID = client.caller.id
        let context = origin.context(for: client.caller, key: roomID)
        let found = await withCheckedContinuation { continuation in
            self.context.memberships.find(roomID, context) { continuation.resume(returning: $0) }
        }
        guard try found.get().participant(userID) != nil else { throw .roomNotFound }
    }
}

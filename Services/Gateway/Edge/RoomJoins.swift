import ParlorContracts
import ParlorDelivery
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorGatewayPresence
import ParlorJSON
import ParlorMessageBus
import ParlorRoomViews
import ParlorServiceKit

/// Handles `room:join`, `room:leave` and `message:typing`. The gateway does this itself, as presence belongs
/// to the socket.
package struct RoomJoins: Sendable {
    private let directory: Directory
    private let checks: RequestChecks
    private let composer: RoomComposer
    private let cache: RoomListCache
    private let presence: Presence
    private let memberships: Memberships

    package init(
        directory: Directory, checks: RequestChecks, composer: RoomComposer, cache: RoomListCache, presence: Presence,
        memberships: Memberships
    ) {
        self.directory = directory
        self.checks = checks
        self.composer = composer
        self.cache = cache
        self.presence = presence
        self.memberships = memberships
    }

    static let join = Fields(
        .string("roomId", .id),
        .optional(.bool("keepOthers", note: "If false (the default), the socket leaves all other rooms."), or: false),
        .optional(.bool("keepUnseen", note: "If true, the elements' badge stays, and new elements count."), or: false))
    static let leave = Fields(.string("roomId", .id))
    static let typing = Fields(.string("roomId", .id), .bool("isTyping"))

    /// - Returns: the Room for the ack of a join.
    func change(
        _ own: OwnEvent, _ event: ClientEvent, on front: isolated EventFront
    ) async throws(ServiceError) -> JSONValue? {
        let (client, origin) = (event.socket, event.origin)
        let payload = try event.payload
        let fields = try RequestFields(payload)
        switch own {
        case .join:
            let (roomID, keepsOthers, keepsUnseen) = try Self.join.read(fields)
            try await checks.pass(
                directory.catalog.joinChecks, payload, as: client.caller, origin: origin, key: roomID)
            return try await join(
                roomID, keepingOthers: keepsOthers, seesAll: !keepsUnseen, client, origin, on: front)
        case .leave: try await leave(try Self.leave.read(fields), client, origin, on: front)
        case .typing:
            let (roomID, isTyping) = try Self.typing.read(fields)
            try await setTyping(isTyping, in: roomID, client, origin, on: front)
        }
        return nil
    }

    /// Joins a room, and leaves the others unless they are to be kept.
    ///
    /// - Parameter seesAll: false if the elements' badge stays.
    private func join(
        _ roomID: String, keepingOthers keepsOthers: Bool, seesAll: Bool, _ client: ClientSocket,
        _ origin: RequestOrigin, on front: isolated EventFront
    ) async throws(ServiceError) -> JSONValue? {
        // Once the join has had an effect, nothing may fail any more.
        guard directory.catalog.isWhole else { throw .unavailable("A part of this service") }
        let earlier = front.delivery.onLoop { $0.joins.begin(roomID) }
        defer { front.delivery.onLoop { $0.joins.end(roomID) } }
        let base = try await composer.base(of: roomID, origin.context(for: client.caller, key: roomID))
        let version = base["version"]?.int ?? 0
        guard client.isConnected else { return nil }
        // The order matters: first the socket joins the audience, so that it misses no event of the room. Only then
        // are other clients notified and the badges zeroed.
        await front.delivery.joinAudience(
            of: roomID, client.subscriber, recordVersion: version, by: origin.deadline)
        client.subscriber.object.liveness.noteJoin()
        guard client.isConnected else { return nil }
        // The person may have left the room since Rooms was asked.
        guard client.subscriber.object.hasJoined(roomID) else { throw .roomNotFound }
        let left = keepsOthers ? [] : client.subscriber.object.rooms.keys.filter { $0 != roomID }
        for other in left { leaveAudience(of: other, client, on: front) }
        let (id, userID) = (client.id, client.caller.id)
        await presence.join(.init(roomID: roomID, userID: userID), socketID: id, seesAll: seesAll)
        // The entries that zero the badges may come after the ack, and `room:badges` must not show the
        // previous values.
        if seesAll { cache.noteVisit(to: roomID, by: userID) }
        await withDiscardingTaskGroup { [presence] group in
            for other in left {
                group.addTask { await presence.leave(.init(roomID: other, userID: userID), socketID: id) }
            }
        }
        // A socket that closed meanwhile left its rooms before this join was recorded.
        guard client.isConnected else {
            await presence.disconnect(socketID: id)
            return nil
        }
        guard client.subscriber.object.hasJoined(roomID) else {
            await presence.leave(.init(roomID: roomID, userID: userID), socketID: id)
            throw .roomNotFound
        }
        let room = try await room(base, asOf: earlier, of: roomID, for: client.caller, origin, on: front)
        return room.json
    }

    /// The time that services have for the ack's Room, even if the join has used up its deadline.
    private static let leastWait: Duration = .milliseconds(250)
    /// The limit of the wait for the room itself, which is known already.
    private static let maxWait: Duration = .seconds(1)
    /// How often a Room is composed for one ack. In a room with an event each millisecond the last one is sent,
    /// although it may lack an event that the socket has received.
    private static let maxCompositions = 3

    /// Composes the Room for the ack of a join. The Room must not be older than the events that the socket has
    /// received, so it is composed again if an event was sent meanwhile.
    ///
    /// - Parameters:
    ///   - base: the room before the join. It is used if the rooms service is down now.
    ///   - earlier: the number of events that `base` includes.
    private func room(
        _ base: JSONValue, asOf earlier: Int, of roomID: String, for caller: Caller, _ origin: RequestOrigin,
        on front: isolated EventFront
    ) async throws(ServiceError) -> ComposedRoom {
        var base = base
        var included = earlier
        var last: ComposedRoom?
        for _ in 0..<Self.maxCompositions {
            let events = front.delivery.onLoop { $0.joins.events(of: roomID) }
            if events != included {
                let context = origin.with(atLeast: Self.leastWait, atMost: Self.maxWait).context(
                    for: caller, key: roomID)
                do throws(ServiceError) {
                    base = try await composer.base(of: roomID, context)
                } catch {
                    // The join is done, and the earlier room is better than none.
                }
                included = events
            }
            do throws(ServiceError) {
                let origin = origin.with(atLeast: Self.leastWait)
                let composed = try await composer.compose([base], for: caller.id, origin, remembering: .some)
                last = composed.rooms.first
            } catch {
                guard last != nil else { throw error }
            }
            if front.delivery.onLoop({ $0.joins.events(of: roomID) }) == included { break }
        }
        guard let last else { throw ServiceError(.internal, "Something went wrong on our side.") }
        return last
    }

    private func leave(
        _ roomID: String, _ client: ClientSocket, _ origin: RequestOrigin, on front: isolated EventFront
    ) async throws(ServiceError) {
        guard client.subscriber.object.hasJoined(roomID) else {
            // A person may type in a room without having joined it.
            let member = RoomMember(roomID: roomID, userID: client.caller.id)
            await presence.setTyping(false, member, socketID: client.id)
            do throws(ServiceError) {
                return try await requireMembership(of: client.caller, in: roomID, origin, on: front)
            } catch  where error.code == .serviceUnavailable {
                // There is nothing to leave, whether or not the rooms service can be reached.
                return
            }
        }
        leaveAudience(of: roomID, client, on: front)
        await presence.leave(.init(roomID: roomID, userID: client.caller.id), socketID: client.id)
    }

    private func leaveAudience(of roomID: String, _ client: ClientSocket, on front: isolated EventFront) {
        front.delivery.onLoop { [subscriber = client.subscriber] in $0.leave(roomID, subscriber) }
    }

    private func setTyping(
        _ isTyping: Bool, in roomID: String, _ client: ClientSocket, _ origin: RequestOrigin,
        on front: isolated EventFront
    ) async throws(ServiceError) {
        if !client.subscriber.object.hasJoined(roomID) {
            try await requireMembership(of: client.caller, in: roomID, origin, on: front)
        }
        guard client.isConnected else { return }
        let member = RoomMember(roomID: roomID, userID: client.caller.id)
        await presence.setTyping(isTyping, member, socketID: client.id)
        if !client.isConnected { await presence.disconnect(socketID: client.id) }
    }

    /// Checks that the caller is in the room. The error is that of a room that does not exist.
    private func requireMembership(
        of caller: Caller, in roomID: String, _ origin: RequestOrigin, on front: isolated EventFront
    ) async throws(ServiceError) {
        let context = origin.context(for: caller, key: roomID)
        let found = await withCheckedContinuation { continuation in
            memberships.find(roomID, context) { continuation.resume(returning: $0) }
        }
        let record = try found.get()
        let isCurrent = front.delivery.onLoop {
            $0.absences.admit(caller.id, to: roomID, recordVersion: record.version)
        }
        guard isCurrent, record.participant(caller.id) != nil else { throw .roomNotFound }
    }
}

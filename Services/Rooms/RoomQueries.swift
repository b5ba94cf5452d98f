import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let getRoom = RequestDescription(
        "Returns a room.", takes: Rooms.wantedRoom, gives: .room, errors: [.roomNotFound])
    static let listParticipants = RequestDescription(
        "Lists a room's participants, in the order in which they came.", takes: Rooms.page,
        gives: .array(of: .reference("Participant")), isPaged: true, errors: [.roomNotFound])
    static let listRooms = RequestDescription(
        "Lists the caller's rooms, most recent first.", gives: .array(of: .room), errors: [.invalidField])
}

/// The requests that only read the database.
extension Rooms {
    fileprivate static let wantedRoom = Fields(.id("roomId", orThrow: .roomNotFound))

    /// Returns a room to its participants; with `isListed`, which gateways add, as a list shows it.
    static func getRoom(_ request: Request, on connection: any Connection) throws -> Reply {
        let caller = try request.caller
        let room = try room(try wantedRoom.read(request.fields), on: connection)
        guard room.membership.participant(caller.id) != nil else { throw ServiceError.roomNotFound }
        let isListed = request.fields["isListed"]?.bool ?? false
        return Reply(.ok, isListed ? room.json(listedFor: caller.id) : room.json)
    }

    /// Lists the caller's rooms, the newest first: `{cursor?}` → the rooms. There is a `page` only if they do
    /// not fit one reply.
    static func listRooms(_ request: Request, on connection: any Connection) throws -> Reply {
        try pageOfRooms(request, on: connection).reply
    }

    /// Returns the caller's rooms from the request's cursor on.
    ///
    /// - Parameter kind: nil for rooms of both kinds.
    static func pageOfRooms(
        _ request: Request, of kind: RoomKind? = nil, on connection: any Connection
    ) throws -> Page<Room> {
        let callerID = try request.caller.id
        let rooms = try RoomsStore(connection).rooms(
            of: callerID, kind, before: try request.fields.optionalCursor(), limit: PageLimits.maxRooms)
        return Page(of: rooms, lookedFor: PageLimits.maxRooms, id: \.id) { $0.write(to: &$1, listedFor: callerID) }
    }

    /// Lists the ids of the caller's rooms, for gateways: `{cursor?}` → a page of ids.
    static func listRoomIDs(_ request: Request, on connection: any Connection) throws -> Reply {
        let ids = try RoomsStore(connection).roomIDs(
            of: try request.caller.id, after: try request.fields.optionalCursor(), limit: PageLimits.maxIDs)
        return Page(ids).reply
    }

    /// Returns a room's record, for other services: `{roomId, keeper?, atLeast?}` → the membership. The requesting service
    /// checks its caller's rights.
    static func findMembership(_ request: Request, on connection: any Connection) throws -> Reply {
        let roomID = try request.fields.string("roomId")
        guard roomID.mayBeID, let record = try RoomsStore(connection).record(of: roomID) else {
            throw ServiceError.roomNotFound
        }
        return Reply(.ok, record.json)
    }

    /// Returns the changes of people that are not complete, for gateways: `{cursor?}` → a page of `PeopleChange`s.
    static func listPendingChanges(_ request: Request, on connection: any Connection) throws -> Reply {
        let (cursor, limit) = (try request.fields.optionalCursor() ?? "", PageLimits.maxChanges)
        let pending = try PendingChangesStore(connection).pending(after: cursor, limit: limit)
        return Page(of: pending, lookedFor: limit, id: \.roomID) { $0.change(isLast: false).write(to: &$1) }.reply
    }

    fileprivate static let page = Fields(
        .id("roomId", orThrow: .roomNotFound), .limit(standard: 50, max: 200), .query("cursor"))

    /// Lists the participants of a room to one of them, in the order in which they came.
    static func listParticipants(_ request: Request, on connection: any Connection) throws -> Reply {
        let callerID = try request.caller.id
        let (roomID, limit, place) = try page.read(request.fields)
        let room = try room(roomID, on: connection)
        guard room.membership.participant(callerID) != nil else { throw ServiceError.roomNotFound }
        // One more than is shown, to see whether there is another page.
        let found = try RoomsStore(connection).participants(of: roomID, after: place ?? -1, limit: limit + 1)
        let next = found.count > limit ? String(found[limit - 1].place) : nil
        return .page(
            JSONWriter.value { $0.array(of: found.prefix(limit)) { $1.participant.write(to: &$0) } }, next: next)
    }

    /// Returns rooms' names, for other services: `{roomIds}` → `{names: [name|null, …]}`, in the same order.
    static func listNames(_ request: Request, on connection: any Connection) throws -> Reply {
        let ids = try request.fields.strings("roomIds", count: 0...PageLimits.maxNames)
        let names = try RoomsStore(connection).names(of: ids)
        return Reply(
            .ok,
            JSONWriter.object(reservingCapacity: 32 * ids.count + 16) {
                $0.name("names")
                $0.array(of: ids) { json, id in
                    if let name = names[id] { json.string(name) } else { json.null() }
                }
            })
    }

    /// Returns rooms in the order of their ids, as the service shows them to gateways, for services that follow the
    /// log.
    static func snapshot(after id: String, limit: Int, on connection: any Connection) throws -> [SnapshotItem] {
        try RoomsStore(connection).rooms(after: id, limit: limit).map { SnapshotItem(id: $0.id, json: $0.json) }
    }

    /// Finds those of some people who share a room with a person, for other services: `{userId, among}` → their ids.
    static func findRoommates(_ request: Request, on connection: any Connection) throws -> Reply {
        let found = try RoomsStore(connection).roommates(
            of: try request.fields.string("userId"),
            among: try request.fields.strings("among", count: 0...PageLimits.maxParticipants))
        return Reply(.ok, JSONWriter.value { $0.array(of: found) { $0.string($1) } })
    }
}

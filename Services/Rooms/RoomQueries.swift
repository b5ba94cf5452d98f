import Contracts
import JSON
import ServiceKit
import Storage

/// Reads that a look at the database answers.
extension Rooms {
    /// `{roomId}` → the room, to those who are in it.
    static func getRoom(_ request: Request, on connection: any Connection) throws -> Reply {
        let caller = try request.caller
        let room = try room(try request.fields.string("roomId"), on: connection)
        guard room.membership.participant(caller.id) != nil else { throw ServiceError.roomNotFound }
        return Reply(.ok, room.json)
    }

    /// `{cursor?}` → the caller's rooms, those made last first. There is a `page` only if they don't fit one answer.
    static func listRooms(_ request: Request, on connection: any Connection) throws -> Reply {
        try pageOfRooms(request, on: connection).reply
    }

    /// The caller's rooms from the request's cursor on.
    static func pageOfRooms(_ request: Request, on connection: any Connection) throws -> Page<Room> {
        let rooms = try RoomsStore(connection).rooms(
            of: try request.caller.id, before: try request.fields.optionalCursor(), limit: PageLimits.maxRooms)
        return Page(of: rooms, lookedFor: PageLimits.maxRooms, id: \.id) { $0.write(to: &$1) }
    }

    /// For gateways: `{cursor?}` → a page of the ids of the caller's rooms.
    static func listRoomIDs(_ request: Request, on connection: any Connection) throws -> Reply {
        let ids = try RoomsStore(connection).roomIDs(
            of: try request.caller.id, after: try request.fields.optionalCursor(), limit: PageLimits.maxIDs)
        return Page(of: ids, lookedFor: PageLimits.maxIDs, id: \.self) { $1.string($0) }.reply
    }

    /// For other services: `{roomId}` → the room's participants. The asking service decides on its
    /// caller's rights.
    static func findMembership(_ request: Request, on connection: any Connection) throws -> Reply {
        Reply(.ok, try room(try request.fields.string("roomId"), on: connection).membership.json)
    }

    /// For other services: `{roomIds}` → `{names: [name|null, …]}`, in their order.
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

    /// For other services: `{userId, cursor?}` → a page of the ids of those who share a room with that person.
    static func listPartners(_ request: Request, on connection: any Connection) throws -> Reply {
        let partners = try RoomsStore(connection).partners(
            of: try request.fields.string("userId"), after: try request.fields.optionalCursor(),
            limit: PageLimits.maxIDs)
        return Page(of: partners, lookedFor: PageLimits.maxIDs, id: \.self) { $1.string($0) }.reply
    }
}

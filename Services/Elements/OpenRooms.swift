import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

extension Elements {
    /// Handles a gateway's report that people opened or closed rooms there: `{gateway, rooms: [{roomId,
    /// userId}], isOpen}`.
    ///
    /// Opening a room marks all its elements as seen, and elements that are created while it is open never
    /// count. If a person's badge changes, all of the person's sockets get it.
    func notePresence(_ request: Request) async throws -> Reply {
        let gateway = try request.fields.string("gateway")
        let isOpen = try request.fields.bool("isOpen")
        guard let listed = request.fields["rooms"] else { throw ServiceError.missing("rooms") }
        guard let items = listed.array else { throw ServiceError.wrongType("rooms", "a list") }
        let rooms = try items.map(OpenRoom.init)

        watch.renew(gateway)
        guard isOpen else {
            try await database.write { try OpenRoomsStore($0).close(rooms, on: gateway) }
            return Reply()
        }
        let entry = try await database.write { [clock] in try OpenRoomsStore($0).open(rooms, on: gateway, at: clock) }
        return Reply(.ok, position: entry.map(ElementsService.position))
    }
}

/// A person who has a room open on at least one socket of a gateway.
struct OpenRoom: Sendable, Equatable {
    let roomID: String
    let userID: String

    init(roomID: String, userID: String) {
        self.roomID = roomID
        self.userID = userID
    }

    init(_ json: JSONValue) throws(ServiceError) {
        guard let object = json.object, let roomID = object["roomId"]?.string, let userID = object["userId"]?.string
        else { throw .wrongType("rooms", "a list of objects with roomId and userId") }
        self.init(roomID: roomID, userID: userID)
    }
}

import Contracts
import ServiceKit

extension Elements {
    /// For gateways: `{gateway, rooms: [{roomId, userId}], isOpen}`: who has a room open there from now on, or has no more.
    ///
    /// Opening a room makes all in it seen, and what is created while it is open never counts. All of a person's sockets
    /// are told if that changes their badge.
    func notePresence(_ request: Request) async throws -> Reply {
        let gateway = try request.fields.string("gateway")
        let isOpen = try request.fields.bool("isOpen")
        guard let listed = request.fields["rooms"] else { throw ServiceError.missing("rooms") }
        guard let items = listed.array else { throw ServiceError.wrongType("rooms", "a list") }
        let rooms = try items.map(OpenRoom.init)

        watch.renew(gateway)
        guard isOpen else {
            try await database.close(rooms, on: gateway)
            return Reply()
        }
        let entry = try await database.open(rooms, on: gateway, at: clock)
        return Reply(.ok, position: entry.map(Self.position))
    }
}

import ParlorContracts
import ParlorJSON
import ParlorStorage

extension RoomFences {
    /// Confirms a change of a room's people: raises the fence, and does the service's own part, in one transaction of the
    /// room's log. Does neither if the fence is as high already; if it is higher, the reply says so: Rooms may have been
    /// restored from a backup.
    static func confirm(
        _ request: Request, in context: ServiceContext, _ ownPart: @escaping PeopleChangeHandler
    ) async throws -> Reply {
        guard let change = request.fields["change"].flatMap(PeopleChange.init) else {
            throw ServiceError.wrongType("change", "a change of people")
        }
        let log = context.logLayout.number(ofRoom: change.roomID)
        let fence = try await context.database.write(holding: 1024, in: log) { connection -> Int in
            let fences = RoomFences(connection)
            let fence = try fences.fence(of: change.roomID)
            guard fence < change.version else { return fence }
            try fences.raise(change.roomID, to: change.version)
            try ownPart(change, connection)
            return change.version
        }
        context.memberships.forget(change.roomID, below: change.version)
        return Reply(.ok, JSONWriter.object { $0.member("fence", fence) })
    }
}

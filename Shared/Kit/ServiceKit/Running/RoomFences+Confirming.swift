import ParlorContracts
import ParlorStorage

extension RoomFences {
    /// Confirms a change of a room's people: raises the fence, and does the service's own part, in one transaction of the
    /// room's log. Does neither if the fence is as high already.
    static func confirm(
        _ request: Request, in context: ServiceContext, _ ownPart: @escaping PeopleChangeHandler
    ) async throws -> Reply {
        guard let change = request.fields["change"].flatMap(PeopleChange.init) else {
            throw ServiceError.wrongType("change", "a change of people")
        }
        let log = context.logLayout.number(ofRoom: change.roomID)
        try await context.database.write(holding: 1024, in: log) { connection in
            let fences = RoomFences(connection)
            guard try fences.fence(of: change.roomID) < change.version else { return }
            try fences.raise(change.roomID, to: change.version)
            try ownPart(change, connection)
        }
        context.memberships.forget(change.roomID, below: change.version)
        return Reply()
    }
}

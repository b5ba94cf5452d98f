import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit

/// Requests people's data from the accounts service.
struct PeopleDirectory: Sendable {
    let bus: any MessageBus

    /// Returns the people with these ids who exist, in no order.
    ///
    /// - Parameter asRoommates: true if they share a room with the caller, so that their address may be
    ///   shown.
    /// - Throws: `service_unavailable` if Accounts does not reply.
    func people(
        _ ids: [String], asRoommates: Bool, _ context: BusContext
    ) async throws(ServiceError) -> [Person] {
        let data = JSONWriter.object {
            $0.member("ids", ids)
            $0.member("viewerSharesRooms", asRoommates)
        }
        let reply = try await bus.ask(Subject.people, data, context, of: "Accounts")
        guard let people = reply.data.array else { throw .noReply }
        return people.compactMap(Person.init)
    }
}

/// Asks the messaging service whether a person has written.
struct AnswerDirectory: Sendable {
    let bus: any MessageBus

    /// Returns true if the person has written in one of these rooms, which are theirs.
    ///
    /// - Throws: `service_unavailable` if Messaging does not reply.
    func hasAnswer(by personID: String, in roomIDs: [String], _ context: BusContext) async throws(ServiceError) -> Bool
    {
        let data = JSONWriter.object(reservingCapacity: roomIDs.count * 40 + 64) {
            $0.member("by", personID)
            $0.member("roomIds", roomIDs)
        }
        let reply = try await bus.ask(Subject.answered, data, context, of: "Messaging")
        guard let isAnswered = reply.data["isAnswered"]?.bool else { throw .noReply }
        return isAnswered
    }
}

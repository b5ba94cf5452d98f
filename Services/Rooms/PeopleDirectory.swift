import Contracts
import JSON
import MessageBus
import ServiceKit

/// Asks the accounts service who people are.
struct PeopleDirectory: Sendable {
    let bus: any MessageBus

    /// Those of the ids that are people's, in no order.
    ///
    /// - Parameter asRoommates: whether they share a room with whoever asks, and so may show their address.
    /// - Throws: `service_unavailable` if Accounts is away.
    func people(
        _ ids: [String], asRoommates: Bool, _ context: BusContext
    ) async throws(ServiceError) -> [Person] {
        let question = JSONWriter.object {
            $0.member("ids", array: { for id in ids { $0.string(id) } })
            $0.member("viewerSharesRooms", asRoommates)
        }
        let reply = try await bus.ask("accounts.people", question, context, of: "Accounts")
        guard let people = reply.data.array else { throw .noAnswer }
        return people.compactMap(Person.init)
    }
}

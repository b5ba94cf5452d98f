import Contracts
import JSON
import MessageBus

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
        let answer: JSONValue
        do {
            answer = try await bus.request("accounts.people", question, context)
        } catch {
            throw .unavailable("Accounts")
        }
        guard let people = try Reply(answer).data.array else {
            throw ServiceError(.internal, "A service gave no answer.")
        }
        return people.compactMap(Person.init)
    }
}

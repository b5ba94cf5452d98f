import Contracts
import JSON
import MessageBus

/// Asks the rooms service: `rooms.partners {userId}` → `["userId", …]`.
struct RoomsPartners: PartnerDirectory {
    let bus: any MessageBus

    func partners(of personID: String, _ context: BusContext) async throws(ServiceError) -> Set<String> {
        let answer: JSONValue
        do {
            answer = try await bus.request(
                "rooms.partners", JSONWriter.object { $0.member("userId", personID) }, context)
        } catch {
            throw .unavailable("Rooms")
        }
        guard let ids = try Reply(answer).data.array else {
            throw ServiceError(.internal, "A service gave no answer.")
        }
        return Set(ids.compactMap(\.string))
    }
}

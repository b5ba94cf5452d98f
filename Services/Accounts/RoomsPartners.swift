import Contracts
import JSON
import MessageBus
import ServiceKit

/// Asks the rooms service: `rooms.partners {userId, cursor?}` → `["userId", …]`, in pages.
struct RoomsPartners: PartnerDirectory {
    let bus: any MessageBus

    func partners(of personID: String, _ context: BusContext) async throws(ServiceError) -> Set<String> {
        let ids = try await bus.askForAll("rooms.partners", context, of: "Rooms") { $0.member("userId", personID) }
        return Set(ids.compactMap(\.string))
    }
}

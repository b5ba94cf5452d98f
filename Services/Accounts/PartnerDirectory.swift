import Contracts
import MessageBus

/// Who shares a room with whom.
protocol PartnerDirectory: Sendable {
    /// The ids of all people whom a person shares a room with.
    ///
    /// - Throws: `service_unavailable` if nobody can tell.
    func partners(of personID: String, _ context: BusContext) async throws(ServiceError) -> Set<String>
}

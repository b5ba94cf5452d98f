import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit

/// What all shards of a gateway share.
struct GatewayContext: Sendable {
    let settings: GatewaySettings
    let bus: any MessageBus
    let log: Logger
    let metrics: Metrics
    let clock: any WallClock
    let directory: Directory
    let presence: Presence
    let composer: RoomComposer
    let memberships: Memberships
    let tokens: TokenVerifier
    let limiter: RateLimiter

    /// Asks a service on somebody's behalf.
    func ask(
        _ subject: String, _ data: JSONValue, as caller: Caller?, requestID: String, key: String?
    ) async throws(ServiceError) -> Reply {
        let context = BusContext(
            requestID: requestID, caller: caller?.json, timeout: settings.requestTimeout, key: key ?? caller?.id)
        return try await bus.ask(subject, data, context, of: "This part of the service", log: log)
    }
}

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
        let answer: JSONValue
        do throws(BusError) {
            answer = try await bus.request(subject, data, context)
        } catch {
            // What is wrong is the request, if it is large, or else the reply: neither gets better by trying again.
            if error == .lineTooLong, data.bytes.count > BusLimits.maxLine / 2 {
                throw ServiceError(.payloadTooLarge, "That is more than can be taken at once.")
            }
            if error == .lineTooLong {
                log.error("an answer is too long for the bus", ["subject": subject, "request": requestID])
                throw ServiceError(.internal, "Something went wrong on our side.")
            }
            throw .unavailable("This part of the service")
        }
        return try Reply(answer)
    }
}

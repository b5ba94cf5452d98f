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
    let measured: GatewayMetrics
    let clock: any WallClock
    let directory: Directory
    let presence: Presence
    let composer: RoomComposer
    let lists: RoomLists
    let memberships: Memberships
    let tokens: TokenVerifier
    let limiter: RateLimiter
    let cursors: SyncCursorCodec
    let missed: MissedEntries
    let crowd: Crowd

    /// Asks a service on somebody's behalf.
    ///
    /// - Parameter isQuestion: whether it changes nothing, so that asking twice does no harm.
    func ask(
        _ subject: String, _ data: JSONValue, as caller: Caller?, origin: RequestOrigin, key: String?,
        isQuestion: Bool = false
    ) async throws(ServiceError) -> Reply {
        let context = origin.context(for: caller, key: key ?? caller?.id, isQuestion: isQuestion)
        return try await bus.ask(subject, data, context, of: Self.anyService, log: log)
    }

    /// Asks for a list that comes in pages, to its end; the time that a service may take is for all of them together.
    func askForPages(
        _ subject: String, _ data: JSONValue, as caller: Caller?, origin: RequestOrigin, key: String?
    ) async throws(ServiceError) -> [Reply] {
        let context = origin.context(for: caller, key: key ?? caller?.id, isQuestion: true)
        return try await bus.askForPages(subject, data, context, of: Self.anyService, log: log)
    }

    /// Whether a service answers, and what it offers is known.
    func isReady(_ service: String) async -> Bool {
        do throws(ServiceError) {
            _ = try await ask(
                Subject.health(of: service), .emptyObject, as: nil, origin: self.origin("readyz"), key: nil)
            return directory.catalog.manifests[service] != nil
        } catch {
            return false
        }
    }

    /// What a person calls a service that the gateway knows nothing of.
    private static let anyService = "This part of the service"
}

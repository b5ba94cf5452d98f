import Contracts
import GatewayPresence
import JSON
import MessageBus
import Reactor
import ServiceKit

/// What all shards of a gateway share. A class, as each call of a struct's `async` function begins with a copy of it.
final class GatewayContext: Sendable {
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
    let slots: RequestSlots
    let cursors: SyncCursorCodec
    let missed: MissedEntries
    let crowd: Crowd
    let personSockets: PersonSockets

    init(
        settings: GatewaySettings, bus: any MessageBus, log: Logger,
        metrics: Metrics, measured: GatewayMetrics, clock: any WallClock,
        directory: Directory, presence: Presence, composer: RoomComposer,
        lists: RoomLists, memberships: Memberships, tokens: TokenVerifier,
        limiter: RateLimiter, slots: RequestSlots, cursors: SyncCursorCodec,
        missed: MissedEntries,
        crowd: Crowd, personSockets: PersonSockets
    ) {
        self.settings = settings
        self.bus = bus
        self.log = log
        self.metrics = metrics
        self.measured = measured
        self.clock = clock
        self.directory = directory
        self.presence = presence
        self.composer = composer
        self.lists = lists
        self.memberships = memberships
        self.tokens = tokens
        self.limiter = limiter
        self.slots = slots
        self.cursors = cursors
        self.missed = missed
        self.crowd = crowd
        self.personSockets = personSockets
    }

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

    /// The same without suspending: the completion is called once, on any thread, maybe before this returns.
    func ask(
        _ subject: String, _ data: JSONValue, as caller: Caller?, origin: RequestOrigin, key: String?,
        completion: @escaping @Sendable (Result<Reply, ServiceError>) -> Void
    ) {
        let context = origin.context(for: caller, key: key ?? caller?.id)
        bus.ask(subject, data, context, of: Self.anyService, log: log, completion: completion)
    }

    /// Asks for a list that comes in pages, to its end; the time that a service may take is for all of them together.
    func askForPages(
        _ subject: String, _ data: JSONValue, as caller: Caller?, origin: RequestOrigin, key: String?
    ) async throws(ServiceError) -> [Reply] {
        let context = origin.context(for: caller, key: key ?? caller?.id, isQuestion: true)
        return try await bus.askForPages(subject, data, context, of: Self.anyService, log: log)
    }

    /// Those of the required services that do not answer, or of which it is not known what they offer. All are asked at once.
    func missingServices() async -> Set<String> {
        await withTaskGroup(of: String?.self) { group in
            for name in settings.requiredServices { group.addTask { await self.isReady(name) ? nil : name } }
            return await group.reduce(into: Set<String>()) { missing, name in if let name { missing.insert(name) } }
        }
    }

    private func isReady(_ service: String) async -> Bool {
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

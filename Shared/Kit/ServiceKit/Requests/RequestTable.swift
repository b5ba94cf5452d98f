import Contracts
import EventLog
import Storage

/// The endpoints that a service has registered, each with its handler; its manifest is made of them.
public struct RequestTable: Sendable {
    public typealias Handler = @Sendable (Request) async throws -> Reply
    public typealias RoomHandler = @Sendable (RoomRequest) async throws -> Reply
    public typealias ReadHandler = @Sendable (Request, any Connection) throws -> Reply

    enum Entry: Sendable {
        case anywhere(Handler)
        case inRoom(RoomHandler)
        case reading(ReadHandler)
        case logPage(EventLog)
    }

    private(set) var entries: [(endpoint: Endpoint, entry: Entry)] = []
    private var contribution: Contribution?
    private var presenceSubject: String?
    private let limitNames: Set<String>

    /// - Parameter limits: the service's own. An endpoint names these, or gateways'.
    init(limits: [RateLimit]) { limitNames = RateLimit.namesOfGateways.union(limits.map(\.name)) }

    private mutating func add(_ endpoint: Endpoint, _ entry: Entry) {
        for name in endpoint.routes.flatMap(\.limits) + endpoint.socketEvents.flatMap(\.limits) {
            // A gateway would ignore it, and limit the calls by its standard limits alone.
            precondition(limitNames.contains(name), "\(endpoint.subject) names a rate limit that is nobody's: \(name)")
        }
        entries.append((endpoint, entry))
    }

    /// Requests that one sender sends one after the other start in that order, and what they do before their first
    /// suspension happens in it.
    public mutating func on(_ endpoint: Endpoint, _ handler: @escaping Handler) {
        add(endpoint, .anywhere(handler))
    }

    /// For a request that a look at the database answers. Questions that come together are answered over one snapshot; the
    /// service's manifest says that it takes them so (`Manifest.batched`).
    public mutating func onRead(_ endpoint: Endpoint, _ handler: @escaping ReadHandler) {
        add(endpoint, .reading(handler))
    }

    /// For requests with a `roomId`: the handler is called once it is known who is in that room, and only for a caller who
    /// is. One sender's requests in a room start in the order they were sent, so that a write queued before the handler's
    /// first suspension is queued in that order.
    public mutating func onRoom(_ endpoint: Endpoint, _ handler: @escaping RoomHandler) {
        add(endpoint, .inRoom(handler))
    }

    /// For gateways: the service's contribution to rooms as one person sees them. A service has one at most.
    ///
    /// - Parameter summaries: what the service knows of these rooms, by room; a room that it knows nothing of is left out.
    public mutating func onContribution<Summary>(
        _ contribution: RoomContribution<Summary>,
        _ summaries:
            @escaping @Sendable (
                _ roomIDs: [String], _ userID: String, _ connection: any Connection
            ) throws -> [String: Summary]
    ) {
        precondition(self.contribution == nil, "a service has one contribution")
        self.contribution = contribution.declaration
        onRead(Endpoint(contribution.subject)) { request, connection in
            let userID = try request.fields.string("userId")
            let roomIDs = try request.fields.strings("roomIds", count: 0 ... .max)
            return contribution.reply(for: roomIDs, try summaries(roomIDs, userID, connection))
        }
    }

    /// For gateways: `{gateway, rooms: [{roomId, userId}], isOpen}`, when people open or close rooms there. A service has
    /// one at most.
    public mutating func onPresence(_ endpoint: Endpoint, _ handler: @escaping Handler) {
        precondition(presenceSubject == nil, "a service has one endpoint for presence")
        presenceSubject = endpoint.subject
        on(endpoint, handler)
    }

    /// Answers questions for pages of the service's own log.
    mutating func answerLogPages(of service: String, from log: EventLog) {
        add(Endpoint(Subject.logPage(of: service)), .logPage(log))
    }

    /// The manifest of a service that has registered these.
    func manifest(of service: any Service.Type) -> Manifest {
        var manifest = Manifest(
            service: service.name, routes: entries.flatMap(\.endpoint.routes),
            socketEvents: entries.flatMap(\.endpoint.socketEvents), contribution: contribution,
            hasEventLog: service.log.contains(.clientEvents),
            logsWhatRoomsShow: service.log.contains(.roomChanges),
            logsEndedSessions: service.log.contains(.endedSessions), presenceSubject: presenceSubject,
            limits: service.limits)
        manifest.batched = entries.compactMap { if case .reading = $0.entry { $0.endpoint.subject } else { nil } }
        return manifest
    }
}

import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorSecurity
import ParlorStorage

/// The endpoints that a service has registered, each with its handler. They make up its manifest.
public struct RequestTable: Sendable {
    public typealias Handler = @Sendable (Request) async throws -> Reply
    public typealias RoomHandler = @Sendable (RoomRequest) async throws -> Reply
    /// What a request needs to have done before it is read.
    public typealias Preparation = @Sendable (Request) async throws -> Void
    public typealias ReadHandler = @Sendable (Request, any Connection) throws -> Reply

    enum Entry: Sendable {
        case anywhere(Handler)
        case inRoom(RoomHandler)
        case reading(ReadHandler, preparation: Preparation?)
        case logPage(EventLogs)
    }

    private(set) var entries: [(endpoint: Endpoint, entry: Entry)] = []
    private var contribution: Contribution?
    private var objectContributions: [ShownObject: Contribution] = [:]
    private var fieldSchemas: [String: Schema] = [:]
    private var objectFieldSchemas: [ShownObject: [String: Schema]] = [:]
    private var presenceSubject: String?
    /// The fence of rooms.
    private(set) var fence = RoomFences.fence
    private(set) var peopleChange: PeopleChangeHandler?
    /// The logs over which this instance spreads rooms.
    var logLayout = LogLayout.single
    private let service: any Service.Type
    /// The limits that an endpoint may name: the service's own, and those of gateways.
    private let limitNames: Set<String>

    init(of service: any Service.Type) {
        self.service = service
        limitNames = RateLimit.namesOfGateways.union(service.limits.map(\.name))
    }

    private mutating func add(_ endpoint: Endpoint, _ entry: Entry) {
        for name in endpoint.routes.flatMap(\.limits) + endpoint.socketEvents.flatMap(\.limits) {
            // A gateway would ignore the name, and limit the calls by its standard limits only.
            guard limitNames.contains(name) else {
                fatalError("\(endpoint.subject) names an unknown rate limit: \(name)")
            }
        }
        guard !entries.contains(where: { $0.endpoint.subject == endpoint.subject }) else {
            fatalError("\(endpoint.subject) has two handlers")
        }
        entries.append((endpoint, entry))
    }

    /// Registers a handler. One sender's requests start in the order they were sent, and the code before each
    /// handler's first suspension runs in that order.
    public mutating func on(_ endpoint: Endpoint, _ handler: @escaping Handler) {
        add(endpoint, .anywhere(handler))
    }

    /// Registers a handler that only reads the database. Requests that arrive together are answered over one
    /// snapshot; the service's manifest declares that it accepts batches (`Manifest.batched`).
    ///
    /// - Parameter preparation: called before the read, for each request; for what has to be written first, which is rare.
    public mutating func onRead(
        _ endpoint: Endpoint, preparing preparation: Preparation? = nil, _ handler: @escaping ReadHandler
    ) {
        add(endpoint, .reading(handler, preparation: preparation))
    }

    /// Registers a handler for requests with a `roomId`. It is called once the room's record is known,
    /// and only if the caller is one of its people. The service's `peer` has to have `requests: [Subject.membership]`.
    ///
    /// It uses the database by `RoomRequest.read` and `write`, which check that the record is still good. If it is not, they
    /// throw, and the handler is called again.
    ///
    /// One sender's requests in a room start in the order they were sent, so writes that are queued before the handler's
    /// first suspension are queued in that order.
    public mutating func onRoom(_ endpoint: Endpoint, _ handler: @escaping RoomHandler) {
        add(endpoint, .inRoom(handler))
    }

    /// For the service that owns the records of rooms.
    ///
    /// - Parameter version: returns the version of a room's record; 0 if there is no such room.
    public mutating func ownsRecords(
        version: @escaping @Sendable (_ roomID: String, _ connection: any Connection) throws -> Int
    ) {
        fence = version
    }

    /// Registers what the service does when people come to a room or leave it, for a service with `onRoom`. A service has at
    /// most one handler. It may be called again for a change that it was called for, if the room's people have changed since.
    public mutating func onPeopleChange(_ handler: @escaping PeopleChangeHandler) {
        guard peopleChange == nil else { fatalError("a service has one handler of people changes") }
        peopleChange = handler
    }

    /// Registers the service's contribution to rooms as one person sees them, for gateways. A service has at
    /// most one.
    ///
    /// - Parameter summaries: returns the service's summaries of these rooms, by room; an unknown room is
    ///   left out.
    public mutating func onContribution<Summary>(
        _ contribution: FieldContribution<Summary>,
        _ summaries:
            @escaping @Sendable (
                _ roomIDs: [String], _ userID: String, _ connection: any Connection
            ) throws -> [String: Summary]
    ) {
        guard self.contribution == nil else { fatalError("a service has one contribution to rooms") }
        self.contribution = contribution.declaration
        fieldSchemas = contribution.schemas
        answer(contribution, ids: "roomIds", as: "rooms", summaries)
    }

    /// Registers the service's contribution to messages or people as one person sees them, for gateways. A service
    /// has at most one for each, without badges, activities and `laterTime`.
    ///
    /// - Parameter summaries: returns the service's summaries of these messages or people, by id; an unknown one
    ///   is left out.
    public mutating func onContribution<Summary>(
        to object: ShownObject, _ contribution: FieldContribution<Summary>,
        _ summaries:
            @escaping @Sendable (
                _ ids: [String], _ userID: String, _ connection: any Connection
            ) throws -> [String: Summary]
    ) {
        guard objectContributions[object] == nil else { fatalError("a service has one contribution to \(object)") }
        guard contribution.declaration.isOfPlainFields else {
            fatalError("\(object) have no badges, activities or `laterTime`")
        }
        objectContributions[object] = contribution.declaration
        objectFieldSchemas[object] = contribution.schemas
        answer(contribution, ids: object.ids, as: object.rawValue, summaries)
    }

    private mutating func answer<Summary>(
        _ contribution: FieldContribution<Summary>, ids member: String, as name: String,
        _ summaries: @escaping @Sendable ([String], String, any Connection) throws -> [String: Summary]
    ) {
        onRead(Endpoint(contribution.subject)) { request, connection in
            let userID = try request.fields.string("userId")
            let ids = try request.fields.strings(member, count: 0 ... .max)
            return contribution.reply(for: ids, try summaries(ids, userID, connection), as: name)
        }
    }

    /// Registers the handler for `{gateway, rooms: [{roomId, userId}], isOpen}`, which gateways send when
    /// people open or close rooms there. A service has at most one.
    public mutating func onPresence(_ endpoint: Endpoint, _ handler: @escaping Handler) {
        guard presenceSubject == nil else { fatalError("a service has one endpoint for presence") }
        presenceSubject = endpoint.subject
        on(endpoint, handler)
    }

    /// Registers the snapshot of all that the service has, for services that follow one of its logs and missed entries:
    /// `{cursor?, log?}` → a `SnapshotPage`.
    ///
    /// - Parameters:
    ///   - endpoint: `Endpoint(Subject.snapshot(of: logID))`.
    ///   - items: returns the items with greater ids than `after`, in the order of ids: `limit`, or fewer if there are
    ///     no more. `after` is "" for the first page.
    public mutating func onSnapshot(
        _ endpoint: Endpoint, of database: any Database,
        _ items:
            @escaping @Sendable (
                _ after: String, _ limit: Int, _ connection: any Connection
            ) throws -> [SnapshotItem]
    ) {
        on(endpoint) { request in
            let after = try request.fields.optionalCursor() ?? ""
            let log = EventLog(database, log: try request.fields.optionalLog())
            return try await database.read { connection in
                try SnapshotPage(at: log.position(on: connection), after: after) {
                    try items($0, $1, connection)
                }.reply
            }
        }
    }

    /// Registers the handler for pages of the service's own logs.
    mutating func answerLogPages(from logs: EventLogs) {
        add(Endpoint(Subject.logPage(of: service.logID)), .logPage(logs))
    }

    /// True if there is an endpoint for which the rooms service is asked who is in the room.
    var asksForRooms: Bool { entries.contains { if case .inRoom = $0.entry { true } else { false } } }

    /// The description of the service with these endpoints.
    var description: ServiceDescription {
        var requests: [String: RequestDescription] = [:]
        for (endpoint, entry) in entries {
            guard let description = endpoint.description else { continue }
            requests[endpoint.subject] = if case .inRoom = entry { description.inRoom } else { description }
        }
        return ServiceDescription(
            requests: requests, events: service.events, fields: fieldSchemas,
            objectFields: objectFieldSchemas.filter { !$0.value.isEmpty })
    }

    /// The manifest of the service with these endpoints.
    var manifest: Manifest {
        let log = service.log
        var manifest = Manifest(
            service: service.name, routes: entries.flatMap(\.endpoint.routes),
            socketEvents: entries.flatMap(\.endpoint.socketEvents), contribution: contribution,
            hasEventLog: log.contains(.clientEvents),
            logsWhatRoomsShow: log.contains(.roomChanges),
            logsEndedSessions: log.contains(.endedSessions), presenceSubject: presenceSubject,
            limits: service.limits)
        manifest.logLayout = logLayout
        manifest.objectContributions = objectContributions
        manifest.checks = entries.flatMap(\.endpoint.checks)
        manifest.confirmsPeopleChanges = service.keeper != nil
        manifest.emits = Set(service.events.map(\.event)).sorted()
        let description = description
        if !description.isEmpty {
            manifest.descriptionDigest = String(Base64URL.encode(SHA256.hash(description.json.bytes)).prefix(16))
        }
        manifest.batched = entries.compactMap { if case .reading = $0.entry { $0.endpoint.subject } else { nil } }
        return manifest
    }
}

import ParlorAPIDocuments
import ParlorContracts
import ParlorDelivery
import ParlorEdge
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorHTTP
import ParlorReactor
import ParlorRoomViews
import ParlorServiceKit
import ParlorWebPage

/// A GET that the gateway answers itself: what the API's documents show, and what answers it.
package struct OwnRoute: Sendable {
    typealias Handler =
        @Sendable (isolated HTTPFront, HTTPRequest, IPAddress, HTTPResponder) throws(ServiceError) -> Void

    let route: Route
    let request: RequestDescription
    /// The form of the answer; nil for the contract's envelope.
    let form: OwnAPI.Form?
    /// True if operators' tools send it: then it is no sign of people.
    let isForOperators: Bool
    let serve: Handler

    /// - Parameter path: the path, without parameters. The subject is only a key, derived from the path: no request is sent
    ///   to it.
    private init(
        _ path: String, _ request: RequestDescription, needsLogin: Bool = false, limits: [String] = [],
        form: OwnAPI.Form? = nil, isForOperators: Bool = false, serve: @escaping Handler
    ) {
        let name = path == "/" ? "page" : path.split { $0 == "/" || $0 == "." }.last.map(String.init) ?? path
        route = Route("GET", path, "\(Catalog.gateway).\(name)", needsLogin: needsLogin, limits: limits)
        self.request = request
        self.form = form
        self.isForOperators = isForOperators
        self.serve = serve
    }

    /// - Parameters:
    ///   - showsOperations: whether `/readyz` and `/metrics` are on the clients' port.
    ///   - page: the web client; nil if none is served.
    package static func all(showsOperations: Bool, page: WebPage?) -> [OwnRoute] {
        [sync] + APIDocuments.Kind.allCases.map(document) + [health]
            + (showsOperations ? [readiness, metrics] : []) + (page.map { [web($0)] } ?? [])
    }
}

extension OwnRoute {
    private static let sync = {
        let cursor = Schema.string.noted("Opaque, and valid only for the person who got it.")
        let snapshot = Schema.object(["cursor": cursor, "rooms": .array(of: .room)])
        let recovered = Schema.object([
            "recovered": .constant(.init(true)),
            "events": .array(of: .object(["event": .string, "data": .any])), "cursor": cursor, "more": .boolean,
        ])
        let lost = Schema.object(["recovered": .constant(.init(false))])
        return OwnRoute(
            "/api/sync",
            RequestDescription(
                "Returns the rooms with a cursor, or the events since one.", takes: SyncEndpoint.page,
                gives: .anyOf([snapshot, recovered, lost]), errors: [.invalidField]),
            needsLogin: true, limits: ["sync"]
        ) { front, request, client, responder throws(ServiceError) in
            let call = try front.own.sync.admit(request, from: client)
            front.startTask { await $0.synchronise(request, call, responder) }
        }
    }()

    private static func document(_ kind: APIDocuments.Kind) -> OwnRoute {
        OwnRoute(
            "/api/\(kind.rawValue)", RequestDescription("Returns the \(kind.title) document.", gives: .object()),
            form: .bare(.object(), statuses: [200, 304])
        ) { front, request, client, responder throws(ServiceError) in
            try front.admission.limits.passAddress([OwnLimits.reads], client)
            front.startTask { responder.send(await $0.own.documents.response(kind, to: request.headers)) }
        }
    }

    private static func web(_ page: WebPage) -> OwnRoute {
        OwnRoute("/", RequestDescription("Returns the web client.", gives: .string), form: .text("text/html")) {
            front, request, client, responder in
            front.startTask { await $0.show(page, request, from: client, responder) }
        }
    }

    // MARK: For operators

    private static let health = OwnRoute(
        "/healthz", RequestDescription("Answers while this process is up.", gives: .object()),
        form: .bare(.object(["status": .string])), isForOperators: true
    ) { _, _, _, responder in responder.send(OperationsEndpoint.health) }

    private static let readiness = {
        let states = Schema.object([
            "status": .choice(["ready", "not ready"]), "services": .map(of: .choice(["up", "down"])),
            "version": .string,
        ])
        return OwnRoute(
            "/readyz",
            RequestDescription("Returns 200 if every required service replies, otherwise 503.", gives: states),
            form: .bare(states, statuses: [200, 503]), isForOperators: true
        ) { front, _, _, responder in front.startTask { responder.send(await $0.own.operations.readiness()) } }
    }()

    private static let metrics = OwnRoute(
        "/metrics", RequestDescription("Returns Prometheus text.", gives: .string), form: .text("text/plain"),
        isForOperators: true
    ) { front, _, _, responder in responder.send(front.own.operations.metricsText) }
}

extension OwnAPI {
    /// Returns the routes and events that the gateway itself handles.
    package static func gateway(_ routes: [OwnRoute]) -> OwnAPI {
        let manifest = Manifest(
            service: Catalog.gateway, routes: routes.map(\.route), socketEvents: RoomJoins.events.map(\.event))
        let requests =
            routes.map { ($0.route.subject, $0.request) } + RoomJoins.events.map { ($0.event.subject, $0.request) }
        let description = ServiceDescription(
            requests: Dictionary(requests) { first, _ in first },
            events: [.typing, .presence, .badges, .syncDone, .requestError])
        let forms = routes.compactMap { route in route.form.map { (route.route.subject, $0) } }
        return OwnAPI(
            manifest, description, forms: Dictionary(forms) { first, _ in first }, room: ComposedRoom.schema(of:))
    }
}

extension APIDocuments.Kind {
    fileprivate var title: String {
        switch self {
        case .openAPI: "OpenAPI"
        case .asyncAPI: "AsyncAPI"
        }
    }
}

extension RoomJoins {
    /// The events that a gateway handles itself.
    static let events: [(event: SocketEvent, request: RequestDescription)] = [
        own(
            .join, ackName: "room",
            RequestDescription(
                "Opens a room: its events reach this socket from now on.",
                takes: join, gives: .room, errors: [.roomNotFound, .invalidField])),
        own(
            .leave,
            RequestDescription(
                "Closes a room.", takes: leave, errors: [.roomNotFound, .invalidField])),
        own(
            .typing,
            RequestDescription(
                "Reports whether the person is typing. Typing ends by itself after 3 s without another report.",
                takes: typing, errors: [.roomNotFound, .invalidField])),
    ]

    private static func own(
        _ event: OwnEvent, ackName: String? = nil, _ request: RequestDescription
    ) -> (event: SocketEvent, request: RequestDescription) {
        let (name, limits) = (event.rawValue, [event.limit.name])
        return (SocketEvent(name, "\(Catalog.gateway).\(name)", ackName: ackName, limits: limits), request)
    }
}

extension EventDescription {
    fileprivate static let requestError = EventDescription(
        "request:error", to: .socket, "An event without an ack was refused.",
        .object(["event": .string, "error": .object(["code": .string, "message": .string])]))
}

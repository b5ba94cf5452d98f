import ParlorAPIDocuments
import ParlorContracts
import ParlorDelivery
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorRoomViews
import ParlorServiceKit

extension OwnAPI {
    /// Returns the routes and events that the gateway itself handles.
    ///
    /// - Parameters:
    ///   - showsOperations: whether `/readyz` and `/metrics` are on the clients' port.
    ///   - showsPage: whether the web client is served.
    package static func gateway(showsOperations: Bool, showsPage: Bool) -> OwnAPI {
        var offered: [OwnRoute] = [SyncEndpoint.route] + OperationsEndpoint.routes(isShown: showsOperations)
        for kind in APIDocuments.Kind.allCases {
            offered.append(
                OwnRoute(
                    "/api/\(kind.rawValue)",
                    RequestDescription("Returns the \(kind.title) document.", gives: .object()),
                    needsLogin: false, form: .bare(.object(), statuses: [200, 304])))
        }
        if showsPage {
            offered.append(
                OwnRoute(
                    "/", RequestDescription("Returns the web client.", gives: .string), needsLogin: false,
                    form: .text("text/html")))
        }
        let manifest = Manifest(
            service: Catalog.gateway, routes: offered.map(\.route), socketEvents: RoomJoins.events.map(\.event))
        let requests =
            offered.map { ($0.route.subject, $0.request) } + RoomJoins.events.map { ($0.event.subject, $0.request) }
        let description = ServiceDescription(
            requests: Dictionary(requests) { first, _ in first },
            events: [.typing, .presence, .badges, .syncDone, .requestError])
        let forms = offered.compactMap { route in route.form.map { (route.route.subject, $0) } }
        return OwnAPI(
            manifest, description, forms: Dictionary(forms) { first, _ in first }, room: ComposedRoom.schema(of:))
    }
}

/// A route that the gateway answers itself.
struct OwnRoute {
    let route: Route
    let request: RequestDescription
    /// The form of the answer; nil for the contract's envelope.
    let form: OwnAPI.Form?

    /// - Parameter path: the path of a GET. The subject is only a key, derived from the path: no request is sent to it.
    init(
        _ path: String, _ request: RequestDescription, needsLogin: Bool = true, limits: [String] = [],
        form: OwnAPI.Form? = nil
    ) {
        let name = path == "/" ? "page" : path.split { $0 == "/" || $0 == "." }.last.map(String.init) ?? path
        route = Route("GET", path, "\(Catalog.gateway).\(name)", needsLogin: needsLogin, limits: limits)
        self.request = request
        self.form = form
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

extension SyncEndpoint {
    static let route: OwnRoute = {
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
                "Returns the rooms with a cursor, or the events since one.",
                takes: page,
                gives: .anyOf([snapshot, recovered, lost]), errors: [.invalidField]),
            limits: ["sync"])
    }()
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

extension OperationsEndpoint {
    static func routes(isShown: Bool) -> [OwnRoute] {
        let health = OwnRoute(
            "/healthz", RequestDescription("Answers while this process is up.", gives: .object()), needsLogin: false,
            form: .bare(.object(["status": .string])))
        guard isShown else { return [health] }
        let states = Schema.object([
            "status": .choice(["ready", "not ready"]), "services": .map(of: .choice(["up", "down"])),
            "version": .string,
        ])
        return [
            health,
            OwnRoute(
                "/readyz",
                RequestDescription("Returns 200 if every required service replies, otherwise 503.", gives: states),
                needsLogin: false, form: .bare(states, statuses: [200, 503])),
            OwnRoute(
                "/metrics", RequestDescription("Returns Prometheus text.", gives: .string), needsLogin: false,
                form: .text("text/plain")),
        ]
    }
}

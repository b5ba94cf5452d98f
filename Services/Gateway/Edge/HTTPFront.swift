import ParlorAPIDocuments
import ParlorContracts
import ParlorDelivery
import ParlorEdge
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorRoomViews
import ParlorServiceKit
import ParlorWebPage

/// The routes that the gateway serves itself, and what they need.
package struct OwnEndpoints: Sendable {
    let operations: OperationsEndpoint
    let sync: SyncEndpoint
    let documents: APIDocuments
    private let routes: [String: OwnRoute]
    private let page: WebPage?

    package init(
        _ routes: [OwnRoute], operations: OperationsEndpoint, sync: SyncEndpoint, documents: APIDocuments,
        page: WebPage?
    ) {
        self.operations = operations
        self.sync = sync
        self.documents = documents
        self.page = page
        self.routes = Dictionary(uniqueKeysWithValues: routes.map { ($0.route.path, $0) })
    }

    /// Returns the route at a path; nil for a path of services. All files of the page have its route.
    ///
    /// - Parameter path: as it was sent. One with escapes is none of these: proxies that hide `/metrics` do not decode it.
    func route(at path: String) -> OwnRoute? { routes[path] ?? (page?.serves(path) == true ? routes["/"] : nil) }
}

/// Serves the HTTP requests of one loop: finds the route, checks the caller, sends the request to the
/// service, and turns its reply into a response.
package actor HTTPFront: LoopPart {
    package nonisolated let loop: EventLoop
    package nonisolated let delivery: LoopDelivery
    private nonisolated let directory: Directory
    nonisolated let admission: Admission
    private let limits: Limits
    private let services: RequestForwarder
    private let checks: RequestChecks
    private let composer: RoomComposer
    private let lists: RoomLists
    private let fields: ContributedFields
    let own: OwnEndpoints
    private nonisolated let metrics: EdgeMetrics
    private nonisolated let log: Logger

    /// The length from which a response holds its slots until it is sent. A client that leaves shorter ones
    /// unread uses little memory.
    private static let longResponse = 64 * 1024
    private static let nothingHere = ServiceError(.routeNotFound, "There is nothing at this address.")

    package init(
        _ delivery: LoopDelivery, directory: Directory, admission: Admission, services: RequestForwarder,
        checks: RequestChecks, composer: RoomComposer, lists: RoomLists, fields: ContributedFields, own: OwnEndpoints,
        metrics: EdgeMetrics, log: Logger
    ) {
        loop = delivery.loop
        self.delivery = delivery
        self.directory = directory
        self.admission = admission
        limits = admission.limits
        self.services = services
        self.checks = checks
        self.composer = composer
        self.lists = lists
        self.fields = fields
        self.own = own
        self.metrics = metrics
        self.log = log
    }

    /// Counts and logs a refusal.
    private nonisolated func note(_ error: ServiceError, _ request: HTTPRequest, requestID: String) {
        metrics.note(error)
        log.noteRefusal(error, requestID, of: "\(request.method) \(request.path)")
    }

    // MARK: The route

    private func serve(_ request: HTTPRequest, from client: IPAddress, _ responder: HTTPResponder) {
        guard let segments = request.pathSegments, !segments.contains(where: \.hasForbiddenControls) else {
            return refuse(
                ServiceError(.malformedRequest, "The address is malformed."), request, from: client, responder)
        }
        // A HEAD is a GET whose body is not sent.
        let method = request.method == "HEAD" ? "GET" : request.method
        let route = own.route(at: request.path)
        if route?.isForOperators != true { delivery.onLoop { $0.noteVisit() } }
        if let route {
            guard method == "GET" else {
                return refuse(.methodNotAllowed, allow: ["GET"], request, from: client, responder)
            }
            do throws(ServiceError) {
                return try route.serve(self, request, client, responder)
            } catch {
                return fail(error, request, responder)
            }
        }
        let catalog = directory.catalog
        switch catalog.routes.match(method, segments) {
        case .none:
            let isPending = segments.first == "api" && !catalog.isWhole
            refuse(
                isPending ? .unavailable("This part of the service") : Self.nothingHere, request, from: client,
                responder)
        case .otherMethods(let methods):
            refuse(.methodNotAllowed, allow: methods, request, from: client, responder)
        case .route(let route, let parameters):
            do throws(ServiceError) {
                let call = try admission.admit(request, to: route, parameters, from: client, catalog)
                startTask { await $0.serve(call, after: route.checks, request, responder) }
            } catch {
                fail(error, request, responder)
            }
        }
    }

    /// Sends the page or one of its files.
    func show(
        _ page: WebPage, _ request: HTTPRequest, from client: IPAddress, _ responder: HTTPResponder
    ) async {
        if let response = await page.response(to: request) { return responder.send(response) }
        refuse(Self.nothingHere, request, from: client, responder)
    }

    /// Refuses a request that matches no route. It counts towards the limit `unknown` of its address.
    ///
    /// - Parameter methods: the methods that the route accepts, if the request's method is wrong.
    private func refuse(
        _ error: ServiceError, allow methods: [String] = [], _ request: HTTPRequest, from client: IPAddress,
        _ responder: HTTPResponder
    ) {
        do throws(ServiceError) {
            try limits.passAddress([OwnLimits.unknown], client)
            fail(error, allow: methods, request, responder)
        } catch {
            fail(error, request, responder)
        }
    }

    private func fail(
        _ error: ServiceError, allow methods: [String] = [], _ request: HTTPRequest, _ responder: HTTPResponder
    ) {
        note(error, request, requestID: responder.requestID)
        responder.send(.error(error, allow: methods, requestID: responder.requestID))
    }

    func synchronise(_ request: HTTPRequest, _ call: SyncEndpoint.Call, _ responder: HTTPResponder) async {
        let origin = services.origin(responder.requestID, trace: request.headers["traceparent"])
        do throws(ServiceError) {
            let (response, slots) = try await own.sync.response(to: request, call, origin, on: loop)
            send(response, with: responder, holding: slots)
        } catch {
            fail(error, request, responder)
        }
    }

    // MARK: The answer

    private func serve(
        _ call: AdmittedCall, after required: [ServiceCheck], _ request: HTTPRequest, _ responder: HTTPResponder
    ) async {
        let origin = services.origin(responder.requestID, trace: request.headers["traceparent"])
        do throws(ServiceError) {
            if !required.isEmpty, let caller = call.caller {
                try await checks.pass(required, call.data, as: caller, origin: origin, key: call.roomID)
            }
            var slots = [call.slot].compactMap(\.self)
            if call.route.isHeavy, let caller = call.caller {
                if call.route.answer == .roomsByPerson { try limits.passList(caller.id, call.address) }
                slots.append(try await limits.enterHeavy(caller.id, on: loop, by: origin.deadline))
            }
            let response = try await answer(call, request, origin)
            limits.settle(call.pass, nil)
            send(response, with: responder, holding: slots)
        } catch {
            limits.settle(call.pass, error)
            fail(error, request, responder)
        }
    }

    private func answer(
        _ call: AdmittedCall, _ request: HTTPRequest, _ origin: RequestOrigin
    ) async throws(ServiceError) -> HTTPResponse {
        let route = call.route
        let viewer = call.caller.map { Viewer($0, at: call.address, origin, on: loop) }
        switch route.answer {
        case .rooms:
            guard let viewer else { break }
            let list = try await lists.list(route.subject, call.data, by: call.sort, for: viewer)
            log.noteAnswer(nil, route.subject, origin)
            return list.response(to: request.headers)
        case .roomsByPerson:
            guard let viewer else { break }
            let people = try await lists.byPerson(route.subject, call.data, key: call.roomID, for: viewer)
            log.noteAnswer(nil, route.subject, origin)
            return .data(people.data, status: 200, degraded: people.degraded)
        case .plain, .room, .participants: break
        }
        let reply = try await services.ask(
            route.subject, call.data, as: call.caller, origin: origin, key: call.roomID,
            isRepeatable: route.method == "GET")
        if reply.isDuplicate { limits.giveBackBytes(call.pass) }
        // Wait until this loop has sent the change's event: its sockets get it before the caller gets the answer.
        await delivery.fannedOut(reply.position, by: origin.deadline)
        log.noteAnswer(reply.position, route.subject, origin)
        if reply.status == .noContent { return .noContent }
        if let shown = route.shows, let viewer {
            let full = await fields.add(to: reply.data, shown, for: viewer.caller.id, origin)
            return .data(full.data, page: reply.page, status: reply.status.rawValue, degraded: full.degraded)
        }
        if route.answer == .participants {
            let people = await composer.participants(reply.data, in: call.roomID ?? "")
            return .data(people, page: reply.page, status: reply.status.rawValue)
        }
        guard route.answer == .room, let viewer else {
            return .data(reply.data, page: reply.page, status: reply.status.rawValue)
        }
        let composed = try await composer.compose([reply.data], for: viewer.caller.id, origin, remembering: .some)
        guard let room = composed.rooms.first else {
            throw ServiceError(.internal, "Something went wrong on our side.")
        }
        return .data(room.json, page: reply.page, status: reply.status.rawValue, degraded: composed.degraded)
    }

    /// Sends a response. A long one holds its slots until the client has taken it.
    private func send(_ response: HTTPResponse, with responder: HTTPResponder, holding slots: [RequestSlots.Slot]) {
        guard response.body.count >= Self.longResponse else { return responder.send(response) }
        responder.send(response) { withExtendedLifetime(slots) {} }
    }
}

extension HTTPFront: RequestDelegate {
    package nonisolated func secondsToWait(of client: IPAddress) -> Int? { admission.limits.secondsToWait(of: client) }

    package nonisolated func refusal(
        ofLargeBody request: HTTPRequest, from client: IPAddress, requestID: String
    ) -> HTTPResponse? {
        guard let error = admission.refusal(ofLargeBody: request, from: client, directory.catalog) else { return nil }
        note(error, request, requestID: requestID)
        return .error(error, requestID: requestID)
    }

    package nonisolated func person(of request: HTTPRequest) -> String? { admission.person(of: request) }

    package nonisolated func respond(
        to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder
    ) {
        onLoop { $0.serve(request, from: client, responder) }
    }

    package nonisolated func response(to failure: HTTPFailure) -> HTTPResponse { .failure(failure) }
}

import Contracts
import Edge
import HTTP
import JSON
import Reactor
import ServiceKit

// HTTP: find the route, check who asks, ask the service, and make a response of its answer.
extension Shard {
    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder) {
        switch request.path {
        case "/healthz", "/readyz", "/metrics": return operate(request, responder)
        default: break
        }
        noteVisit()
        let id = responder.requestID
        guard let segments = request.pathSegments, !segments.contains(where: \.hasForbiddenControls) else {
            return responder.send(.error(ServiceError(.malformedRequest, "The address makes no sense."), requestID: id))
        }
        // A HEAD is a GET whose body is not sent.
        let method = request.method == "HEAD" ? "GET" : request.method
        if segments == ["api", "sync"] {
            guard method == "GET" else { return responder.send(.methodNotAllowed(["GET"], requestID: id)) }
            startTask { await $0.sync(request, from: client, using: responder) }
            return
        }
        let catalog = context.directory.catalog
        switch catalog.routes.match(method, segments) {
        case .none:
            let isPending = segments.first == "api" && !catalog.isWhole
            responder.send(
                .error(
                    isPending
                        ? .unavailable("This part of the service")
                        : ServiceError(.routeNotFound, "There is nothing at this address."), requestID: id))
        case .otherMethods(let methods): responder.send(.methodNotAllowed(methods, requestID: id))
        case .route(let route, let parameters):
            startTask { await $0.serve(request, route, parameters, from: client, responder, catalog) }
        }
    }

    private func serve(
        _ request: HTTPRequest, _ route: Route, _ parameters: [(name: String, value: String)], from client: IPAddress,
        _ responder: HTTPResponder, _ catalog: Catalog
    ) async {
        let id = responder.requestID
        let origin = context.origin(id, trace: request.headers["traceparent"])
        do throws(ServiceError) {
            var caller: Caller?
            if route.needsLogin {
                guard let claims = context.tokens.verify(authorization: request.headers["Authorization"]) else {
                    throw ServiceError(.unauthenticated, "Log in first.")
                }
                caller = claims.caller
            }
            let data = try Self.data(of: request, parameters)
            let sort = try Self.sort(route, data)
            let key = parameters.first { $0.name == "roomId" }?.value
            let named = caller?.id ?? data["username"]?.string?.lowercased()
            if route.answer == .rooms, let caller {
                let answer = try await limited(by: route.limits, in: catalog, person: named, address: client) {
                    () async throws(ServiceError) -> RoomList in
                    try await list(route, data, for: caller, by: sort, catalog, origin)
                }
                note(nil, route.subject, origin)
                return responder.send(answer.response(to: request.headers))
            }
            let reply = try await limited(by: route.limits, in: catalog, person: named, address: client) {
                () async throws(ServiceError) -> Reply in
                try await ask(route, data, as: caller, origin: origin, key: key)
            }
            // Who is told of it by others finds it in what this gateway has sent.
            await fannedOut(reply.position, by: origin.deadline)
            note(reply.position, route.subject, origin)
            responder.send(try await response(reply, route, caller, origin))
        } catch {
            responder.send(.error(error, requestID: id))
        }
    }

    /// Asks the route's service. A list of rooms comes in pages that fit the bus: it is asked for to its end.
    private func ask(
        _ route: Route, _ data: JSONValue, as caller: Caller?, origin: RequestOrigin, key: String?
    ) async throws(ServiceError) -> Reply {
        guard route.answer == .roomsByPerson else {
            return try await context.ask(
                route.subject, data, as: caller, origin: origin, key: key, isQuestion: route.method == "GET")
        }
        let pages = try await context.askForPages(route.subject, data, as: caller, origin: origin, key: key)
        return Reply(.ok, Self.joined(pages.map(\.data)))
    }

    private func list(
        _ route: Route, _ data: JSONValue, for caller: Caller, by sort: ComposedRoom.Sort, _ catalog: Catalog,
        _ origin: RequestOrigin
    ) async throws(ServiceError) -> RoomList {
        // Of another list, or of anything else in the query, only the service knows what it is.
        let isPlain = route.subject == Subject.rooms && data.object?.names.allSatisfy { $0 == "sort" } == true
        let key = KeptLists.Key(userID: caller.id, sort: sort)
        let composer = context.composer
        return try await context.lists.list(key, logs: isPlain ? catalog.listLogs : nil) {
            (roomIDs) async throws(ServiceError) -> RoomComposer.Composed in
            let bases: [JSONValue]
            if let roomIDs {
                bases = try await composer.bases(of: roomIDs, origin.context(for: caller, isQuestion: true))
            } else {
                let pages = try await context.askForPages(route.subject, data, as: caller, origin: origin, key: nil)
                bases = pages.flatMap { $0.data.array ?? [] }
            }
            return try await composer.compose(
                bases, for: caller.id, origin, unnamed: JSONValue(""),
                remembering: roomIDs == nil && isPlain ? .all : .some)
        }
    }

    /// Lists as one; of objects, each member that is a list.
    private static func joined(_ pages: [JSONValue]) -> JSONValue {
        guard let first = pages.first, pages.count > 1 else { return pages.first ?? .emptyArray }
        guard first.kind == .array else {
            return JSONWriter.object { json in
                for (name, _) in first.object?.all ?? [] {
                    json.member(name, joined(pages.map { $0[name] ?? .emptyArray }))
                }
            }
        }
        return JSONWriter.value(reservingCapacity: pages.reduce(0) { $0 + $1.bytes.count }) { json in
            json.array(of: pages.flatMap { $0.array ?? [] }) { $0.value($1) }
        }
    }

    // MARK: The request

    /// One object: the query's items or the body's members, then the path's parameters, of which the later win.
    private static func data(
        of request: HTTPRequest, _ parameters: [(name: String, value: String)]
    ) throws(ServiceError) -> JSONValue {
        var body = JSONValue.emptyObject
        var items: [(name: String, value: String)] = []
        switch request.method {
        case "POST", "PUT", "PATCH":
            do throws(JSONError) {
                body = try JSONValue(parsing: request.body)
            } catch {
                throw ServiceError(.malformedRequest, "The body is not JSON: \(error.reason) at byte \(error.offset).")
            }
            guard body.kind == .object else {
                throw ServiceError(.malformedRequest, "The body has to be a JSON object.")
            }
        default:
            guard let query = request.queryItems else {
                throw ServiceError(.malformedRequest, "The query makes no sense.")
            }
            items = query.items
        }
        return JSONWriter.object(reservingCapacity: body.bytes.count + 128) {
            for item in items { $0.member(item.name, item.value) }
            $0.members(of: body)
            for parameter in parameters { $0.member(parameter.name, parameter.value) }
        }
    }

    private static func sort(_ route: Route, _ data: JSONValue) throws(ServiceError) -> ComposedRoom.Sort {
        guard route.answer == .rooms, let given = data["sort"]?.string else { return .activity }
        guard let sort = ComposedRoom.Sort(rawValue: given) else {
            throw .invalid("sort", "has to be activity, messages or content")
        }
        return sort
    }

    // MARK: The response

    private func response(
        _ reply: Reply, _ route: Route, _ caller: Caller?, _ origin: RequestOrigin
    ) async throws(ServiceError) -> HTTPResponse {
        if reply.status == .noContent { return HTTPResponse(status: 204) }
        let status = reply.status.rawValue
        guard let viewer = caller?.id else { return .data(reply.data, page: reply.page, status: status) }
        let composed: RoomComposer.Composed
        let data: JSONValue
        switch route.answer {
        case .plain, .rooms:  // a list of somebody's is made by `list`
            return .data(reply.data, page: reply.page, status: status)
        case .room:
            composed = try await context.composer.compose([reply.data], for: viewer, origin, remembering: .some)
            guard let room = composed.rooms.first else {
                throw ServiceError(.internal, "Something went wrong on our side.")
            }
            data = room.json
        case .roomsByPerson:
            let (rooms, people) = (reply.data["rooms"]?.array ?? [], reply.data["people"]?.array ?? [])
            composed = try await context.composer.compose(rooms, for: viewer, origin, remembering: .some)
            data = ComposedRoom.groupedByPerson(composed.rooms, people: people, viewer: viewer)
        }
        return .data(data, page: reply.page, status: status, degraded: composed.degraded)
    }

    // MARK: Operations

    private func operate(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard request.method == "GET" || request.method == "HEAD" else {
            return responder.send(.methodNotAllowed(["GET", "HEAD"], requestID: responder.requestID))
        }
        switch request.path {
        case "/healthz": responder.send(.json(JSONWriter.object { $0.member("status", "up") }))
        case "/metrics": responder.send(.metrics(context.metrics))
        default: startTask { responder.send(await $0.readiness()) }
        }
    }

    /// Every required service is asked at once.
    private func readiness() async -> HTTPResponse {
        let context = context
        let required = context.settings.requiredServices.sorted()
        let missing = await withTaskGroup(of: String?.self) { group in
            for name in required { group.addTask { await context.isReady(name) ? nil : name } }
            return await group.reduce(into: Set<String>()) { missing, name in if let name { missing.insert(name) } }
        }
        let body = JSONWriter.object { json in
            json.member("status", missing.isEmpty ? "ready" : "not ready")
            json.member(
                "services",
                object: { for name in required { $0.member(name, missing.contains(name) ? "down" : "up") } })
        }
        var response = HTTPResponse.json(body, status: missing.isEmpty ? 200 : 503)
        if !missing.isEmpty { response.headers.add("Retry-After", "1") }
        return response
    }
}

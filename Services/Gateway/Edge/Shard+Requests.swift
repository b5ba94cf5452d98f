import Contracts
import Edge
import HTTP
import JSON
import Operations
import Reactor
import ServiceKit

// HTTP: find the route, check who asks, ask the service, and make a response of its answer.
extension Shard {
    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder) {
        switch request.path {
        case "/healthz": return operate(request, responder)
        case "/readyz" where context.settings.showsOperations, "/metrics" where context.settings.showsOperations:
            return operate(request, responder)
        default: break
        }
        noteVisit()
        let id = responder.requestID
        guard let segments = request.pathSegments, !segments.contains(where: \.hasForbiddenControls) else {
            return refuse(
                .error(ServiceError(.malformedRequest, "The address makes no sense."), requestID: id), to: client,
                responder)
        }
        // A HEAD is a GET whose body is not sent.
        let method = request.method == "HEAD" ? "GET" : request.method
        if segments == ["api", "sync"] {
            guard method == "GET" else {
                return refuse(.methodNotAllowed(["GET"], requestID: id), to: client, responder)
            }
            return sync(request, from: client, using: responder)
        }
        let catalog = context.directory.catalog
        switch catalog.routes.match(method, segments) {
        case .none:
            let isPending = segments.first == "api" && !catalog.isWhole
            refuse(
                .error(
                    isPending
                        ? .unavailable("This part of the service")
                        : ServiceError(.routeNotFound, "There is nothing at this address."), requestID: id),
                to: client, responder)
        case .otherMethods(let methods): refuse(.methodNotAllowed(methods, requestID: id), to: client, responder)
        case .route(let route, let parameters):
            do throws(ServiceError) {
                let call = try admit(request, to: route, parameters, from: client, catalog)
                startTask { await $0.serve(call, request, responder) }
            } catch {
                fail(error, responder)
            }
        }
    }

    /// Counts a request to nothing that is there.
    private func refuse(
        _ response: @autoclosure () -> HTTPResponse, to client: IPAddress, _ responder: HTTPResponder
    ) {
        do throws(ServiceError) {
            try passAddress(limit("unknown"), client)
            responder.send(response())
        } catch {
            fail(error, responder)
        }
    }

    func fail(_ error: ServiceError, _ responder: HTTPResponder) {
        context.measured.note(error)
        responder.send(.error(error, requestID: responder.requestID))
    }

    private func serve(_ call: AdmittedCall, _ request: HTTPRequest, _ responder: HTTPResponder) async {
        let origin = context.origin(responder.requestID, trace: request.headers["traceparent"])
        do throws(ServiceError) {
            var slots = [call.slot].compactMap(\.self)
            if call.route.isHeavy, let caller = call.caller {
                if call.route.answer == .roomsByPerson { try passList(caller.id, call.address) }
                slots.append(try await enterHeavy(caller.id, by: origin.deadline))
            }
            let response = try await answer(call, request, origin)
            settle(call.pass, nil)
            send(response, with: responder, holding: slots)
        } catch {
            settle(call.pass, error)
            fail(error, responder)
        }
    }

    private func answer(
        _ call: AdmittedCall, _ request: HTTPRequest, _ origin: RequestOrigin
    ) async throws(ServiceError) -> HTTPResponse {
        if call.route.answer == .rooms, let caller = call.caller {
            let list = try await list(call, for: caller, origin)
            note(nil, call.route.subject, origin)
            return list.response(to: request.headers)
        }
        let reply = try await ask(call, origin)
        if reply.isDuplicate { giveBackBytes(call.pass) }
        // Who is told of it by others finds it in what this gateway has sent.
        await fannedOut(reply.position, by: origin.deadline)
        note(reply.position, call.route.subject, origin)
        return try await response(reply, call, origin)
    }

    /// A shorter answer leaves its places at once: what a client leaves unread of those is little.
    private static let longAnswer = 64 * 1024

    /// Sends an answer. A long one holds its places until the client has taken it.
    func send(_ response: HTTPResponse, with responder: HTTPResponder, holding slots: [RequestSlots.Slot]) {
        guard response.body.count >= Self.longAnswer else { return responder.send(response) }
        responder.send(response) { withExtendedLifetime(slots) {} }
    }

    /// Asks the route's service. A list of rooms comes in pages that fit the bus: it is asked for to its end.
    private func ask(_ call: AdmittedCall, _ origin: RequestOrigin) async throws(ServiceError) -> Reply {
        let route = call.route
        guard route.answer == .roomsByPerson else {
            return try await context.ask(
                route.subject, call.data, as: call.caller, origin: origin, key: call.roomID,
                isQuestion: route.method == "GET")
        }
        let pages = try await context.askForPages(
            route.subject, call.data, as: call.caller, origin: origin, key: call.roomID)
        return Reply(.ok, await context.composer.longWork.run(if: pages.count > 1) { Self.joined(pages.map(\.data)) })
    }

    private func list(
        _ call: AdmittedCall, for caller: Caller, _ origin: RequestOrigin
    ) async throws(ServiceError) -> RoomList {
        let (route, data) = (call.route, call.data)
        // Of another list, or of anything else in the query, only the service knows what it is.
        let isPlain = route.subject == Subject.rooms && data.object?.names.allSatisfy { $0 == "sort" } == true
        let key = KeptLists.Key(userID: caller.id, sort: call.sort)
        let composer = context.composer
        return try await context.lists.list(key, logs: isPlain ? call.catalog.listLogs : nil) {
            (roomIDs) async throws(ServiceError) -> RoomComposer.Composed in
            let bases: [JSONValue]
            let slot: RequestSlots.Slot?
            if let roomIDs {
                slot = nil
                bases = try await composer.bases(of: roomIDs, origin.context(for: caller, isQuestion: true))
            } else {
                // A list that was kept is light.
                try passList(caller.id, call.address)
                slot = try await enterHeavy(caller.id, by: origin.deadline)
                let pages = try await context.askForPages(route.subject, data, as: caller, origin: origin, key: nil)
                bases = await context.composer.longWork.run(if: pages.count > 1) {
                    pages.flatMap { $0.data.array ?? [] }
                }
                noteList(of: bases.count, for: caller.id, call.address)
            }
            let composed = try await composer.compose(
                bases, for: caller.id, origin, unnamed: JSONValue(""),
                remembering: roomIDs == nil && isPlain ? .all : .some)
            withExtendedLifetime(slot) {}
            return composed
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

    // MARK: The response

    private func response(
        _ reply: Reply, _ call: AdmittedCall, _ origin: RequestOrigin
    ) async throws(ServiceError) -> HTTPResponse {
        if reply.status == .noContent { return .noContent }
        let status = reply.status.rawValue
        guard let viewer = call.caller?.id else { return .data(reply.data, page: reply.page, status: status) }
        let composed: RoomComposer.Composed
        let data: JSONValue
        switch call.route.answer {
        case .plain, .rooms:  // a list of somebody's is made by `list`
            return .data(reply.data, page: reply.page, status: status)
        case .room:
            composed = try await context.composer.compose([reply.data], for: viewer, origin, remembering: .some)
            guard let room = composed.rooms.first else {
                throw ServiceError(.internal, "Something went wrong on our side.")
            }
            data = room.json
        case .roomsByPerson:
            let given = reply.data
            let (rooms, people) = await context.composer.longWork.run(if: given.bytes.count > Self.longAnswer) {
                (given["rooms"]?.array ?? [], given["people"]?.array ?? [])
            }
            noteList(of: rooms.count, for: viewer, call.address)
            let found = try await context.composer.compose(rooms, for: viewer, origin, remembering: .some)
            data = await context.composer.longWork.run(if: found.isLong) {
                ComposedRoom.groupedByPerson(found.rooms, people: people, viewer: viewer)
            }
            composed = found
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

    private func readiness() async -> HTTPResponse {
        let required = context.settings.requiredServices.sorted()
        let missing = await context.missingServices()
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

import ParlorContracts
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorRoomViews

/// A call of a route that may be performed.
struct AdmittedCall: Sendable {
    let route: Route
    let caller: Caller?
    let address: IPAddress
    let data: JSONValue
    /// The room's id, which is the affinity key of the request (`BusContext.key`).
    let roomID: String?
    let sort: RoomSort
    let pass: LimitPass
    /// The slot among the person's requests in progress.
    let slot: RequestSlots.Slot?
}

/// Decides whether a call is performed. The cheapest checks come first: the address, the length of the body,
/// the token, the person. The JSON of the body is last: it takes ten milliseconds for a mebibyte.
package final class Admission: Sendable {
    let limits: Limits
    let tokens: TokenVerifier
    /// True if rate limits apply to people and addresses.
    private let isLimiting: Bool

    package init(limits: Limits, tokens: TokenVerifier, isLimiting: Bool) {
        self.limits = limits
        self.tokens = tokens
        self.isLimiting = isLimiting
    }

    func admit(
        _ request: HTTPRequest, to offered: Offered<Route>, _ parameters: [(name: String, value: String)],
        from client: IPAddress, _ catalog: Catalog
    ) throws(ServiceError) -> AdmittedCall {
        let (route, counted) = (offered.declaration, offered.limits)
        try limits.passAddress(counted, client)
        guard request.body.count <= route.maxBodyBytes else {
            limits.giveBackFailures(of: counted, client)
            throw ServiceError(.payloadTooLarge, "The body has to be at most \(route.maxBodyBytes) bytes.")
        }
        guard route.needsLogin else {
            return try admitStranger(request, to: route, parameters, from: client, counted)
        }
        let claims: AccessClaims
        do throws(ServiceError) {
            claims = try tokens.claims(authorization: request.headers["Authorization"])
        } catch {
            limits.giveBackFailures(of: counted, client)
            throw error
        }
        let caller = claims.caller
        let pass = try limits.pass(
            counted, person: caller.id, address: client, isAddressCounted: true,
            writing: route.method == "GET" ? nil : request.body.count)
        let slot: RequestSlots.Slot
        do throws(ServiceError) {
            slot = try limits.enter(caller.id)
        } catch {
            // Nothing was parsed and nothing written. A body that is refused because of its content stays
            // counted, as it was parsed.
            limits.giveBackBytes(pass)
            limits.settle(pass, error)
            throw error
        }
        do throws(ServiceError) {
            let data = try data(of: request, to: route, parameters, from: client, claims)
            return AdmittedCall(
                route: route, caller: caller, address: client, data: data, roomID: Self.roomID(parameters),
                sort: try Self.sort(route, data, catalog), pass: pass, slot: slot)
        } catch {
            limits.settle(pass, error)
            throw error
        }
    }

    /// Admits a call that needs no login. Only the address is counted: if a name in the body were, anyone could
    /// use up another person's limit. A valid access token still tells the service its session.
    private func admitStranger(
        _ request: HTTPRequest, to route: Route, _ parameters: [(name: String, value: String)], from client: IPAddress,
        _ counted: [RateLimit]
    ) throws(ServiceError) -> AdmittedCall {
        let data: JSONValue
        do throws(ServiceError) {
            let claims = route.wantsClient ? tokens.verify(authorization: request.headers["Authorization"]) : nil
            data = try self.data(of: request, to: route, parameters, from: client, claims)
        } catch {
            limits.giveBackFailures(of: counted, client)
            throw error
        }
        let pass = try limits.pass(counted, person: nil, address: client, isAddressCounted: true)
        return AdmittedCall(
            route: route, caller: nil, address: client, data: data, roomID: Self.roomID(parameters), sort: .activity,
            pass: pass, slot: nil)
    }

    /// Returns the refusal of a large body, or nil to receive it. Large bodies are accepted only from clients
    /// that are logged in and within their limits, as an unfinished body uses memory.
    ///
    /// - Parameter request: the request without its body.
    func refusal(ofLargeBody request: HTTPRequest, from client: IPAddress, _ catalog: Catalog) -> ServiceError? {
        var route: Offered<Route>?
        if let segments = request.pathSegments,
            case .route(let found, _) = catalog.routes.match(request.method, segments)
        {
            route = found
        }
        guard let claims = tokens.verify(authorization: request.headers["Authorization"]) else {
            if let route, !route.declaration.needsLogin {
                return ServiceError(.payloadTooLarge, "The body is too large for this address.")
            }
            return ServiceError(.unauthenticated, "Log in first.")
        }
        guard let route else { return nil }
        do throws(ServiceError) {
            try limits.check(
                route.limits, person: claims.caller.id, address: client,
                writing: request.headers["Content-Length"].flatMap(Int.init))
            return nil
        } catch {
            return error
        }
    }

    /// Returns the signed-in person; nil if there is none.
    func person(of request: HTTPRequest) -> String? {
        tokens.verify(authorization: request.headers["Authorization"])?.caller.id
    }

    // MARK: The request to the service

    private static func roomID(_ parameters: [(name: String, value: String)]) -> String? {
        parameters.first { $0.name == "roomId" }?.value
    }

    /// Returns the request's data as one object: the query's items or the body's members, then the path's
    /// parameters, then a description of the client if the route wants one. If a name occurs twice, the later one wins.
    private func data(
        of request: HTTPRequest, to route: Route, _ parameters: [(name: String, value: String)], from client: IPAddress,
        _ claims: AccessClaims?
    ) throws(ServiceError) -> JSONValue {
        var body = JSONValue.emptyObject
        var items: [(name: String, value: String)] = []
        switch request.method {
        case "POST", "PUT", "PATCH":
            // `curl -X PUT` has no body, which is a request without fields. With a `Content-Type`, an empty body is
            // malformed.
            if request.body.isEmpty, request.headers["Content-Type"] == nil { break }
            do throws(JSONError) {
                body = try JSONValue(parsing: request.body)
            } catch {
                let coding = request.headers["Content-Encoding"].map { " It is not decoded from \($0.prefix(32))." }
                throw ServiceError(
                    .malformedRequest,
                    "The body is not JSON: \(error.reason) at byte \(error.offset).\(coding ?? "")")
            }
            guard body.kind == .object else {
                throw ServiceError(.malformedRequest, "The body has to be a JSON object.")
            }
        default:
            guard let query = request.queryItems else {
                throw ServiceError(.malformedRequest, "The query is malformed.")
            }
            items = query.items
            // The gateway itself reads these lists page by page, so that each answer has all rooms.
            if [.rooms, .roomsByPerson].contains(route.answer) { items.removeAll { $0.name == "cursor" } }
        }
        let data = JSONWriter.object(reservingCapacity: body.bytes.count + 128) {
            for item in items { $0.member(item.name, item.value) }
            $0.members(of: body)
            for parameter in parameters { $0.member(parameter.name, parameter.value) }
        }
        return route.wantsClient ? describe(client, with: request, claims, in: data) : data
    }

    /// Returns the request's data with a member that describes the client, replacing any other value of that
    /// member.
    private func describe(
        _ address: IPAddress, with request: HTTPRequest, _ claims: AccessClaims?, in data: JSONValue
    ) -> JSONValue {
        let agent = request.headers["User-Agent"] ?? ""
        let client = ClientInfo(
            address: address.description,
            userAgent: String(decoding: agent.utf8.prefix(ClientInfo.maxUserAgent), as: UTF8.self),
            sessionID: claims?.sessionID, isLimited: isLimiting)
        return JSONWriter.object(reservingCapacity: data.bytes.count + 512) {
            $0.members(of: data)
            $0.member(ClientInfo.member, client.json)
        }
    }

    private static func sort(
        _ route: Route, _ data: JSONValue, _ catalog: Catalog
    ) throws(ServiceError) -> RoomSort {
        guard route.answer == .rooms, let given = data["sort"]?.string else { return .activity }
        return try RoomSort(given, in: catalog)
    }
}

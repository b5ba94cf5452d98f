import Contracts
import Edge
import HTTP
import JSON
import Reactor
import ServiceKit

/// A call of a route that may be carried out.
struct AdmittedCall: Sendable {
    let route: Route
    let catalog: Catalog
    let caller: Caller?
    let data: JSONValue
    /// In the order of the keys that services go by.
    let roomID: String?
    let sort: ComposedRoom.Sort
    let pass: LimitPass
    /// Among the requests of its person that are under way.
    let slot: RequestSlots.Slot?
}

// Whether a call is carried out. What costs least is asked first: the address, the length of the body, the token, the person, and only
// then the JSON of the body, which takes ten milliseconds for a mebibyte.
extension Shard {
    func admit(
        _ request: HTTPRequest, to route: Route, _ parameters: [(name: String, value: String)], from client: IPAddress,
        _ catalog: Catalog
    ) throws(ServiceError) -> AdmittedCall {
        let limits = catalog.limits(of: route)
        try passAddress(limits, client)
        guard request.body.count <= route.maxBodyBytes else {
            giveBackFailures(of: limits, client)
            throw ServiceError(.payloadTooLarge, "The body has to be at most \(route.maxBodyBytes) bytes.")
        }
        guard route.needsLogin else {
            return try admitNamed(request, to: route, parameters, from: client, limits, catalog)
        }
        let caller = try caller(of: request)
        let pass = try passLimits(
            limits, person: caller.id, address: client, isAddressCounted: true,
            writing: route.method == "GET" ? nil : request.body.count)
        do throws(ServiceError) {
            let slot = try enter(caller.id)
            return try makeCall(of: request, to: route, parameters, caller, pass, slot, catalog)
        } catch {
            settle(pass, error)
            throw error
        }
    }

    /// Without a login: the person that is counted stands in the body.
    private func admitNamed(
        _ request: HTTPRequest, to route: Route, _ parameters: [(name: String, value: String)], from client: IPAddress,
        _ limits: [RateLimit], _ catalog: Catalog
    ) throws(ServiceError) -> AdmittedCall {
        let data: JSONValue
        do throws(ServiceError) {
            data = try Self.data(of: request, parameters)
        } catch {
            giveBackFailures(of: limits, client)
            throw error
        }
        let pass = try passLimits(
            limits, person: data["username"]?.string?.lowercased(), address: client, isAddressCounted: true)
        return AdmittedCall(
            route: route, catalog: catalog, caller: nil, data: data, roomID: Self.roomID(parameters), sort: .activity,
            pass: pass, slot: nil)
    }

    private func makeCall(
        of request: HTTPRequest, to route: Route, _ parameters: [(name: String, value: String)], _ caller: Caller,
        _ pass: LimitPass, _ slot: RequestSlots.Slot, _ catalog: Catalog
    ) throws(ServiceError) -> AdmittedCall {
        let data = try Self.data(of: request, parameters)
        return AdmittedCall(
            route: route, catalog: catalog, caller: caller, data: data, roomID: Self.roomID(parameters),
            sort: try Self.sort(route, data), pass: pass, slot: slot)
    }

    /// - Throws: `unauthenticated`.
    func caller(of request: HTTPRequest) throws(ServiceError) -> Caller {
        guard let claims = context.tokens.verify(authorization: request.headers["Authorization"]) else {
            throw ServiceError(.unauthenticated, "Log in first.")
        }
        return claims.caller
    }

    // MARK: The request

    private static func roomID(_ parameters: [(name: String, value: String)]) -> String? {
        parameters.first { $0.name == "roomId" }?.value
    }

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
}

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
    let address: IPAddress
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
            return try admitStranger(request, to: route, parameters, from: client, limits, catalog)
        }
        let claims: AccessClaims
        do throws(ServiceError) {
            claims = try context.tokens.claims(authorization: request.headers["Authorization"])
        } catch {
            giveBackFailures(of: limits, client)
            throw error
        }
        let caller = claims.caller
        let pass = try passLimits(
            limits, person: caller.id, address: client, isAddressCounted: true,
            writing: route.method == "GET" ? nil : request.body.count)
        do throws(ServiceError) {
            let slot = try enter(caller.id)
            let data = try data(of: request, to: route, parameters, from: client, claims)
            return AdmittedCall(
                route: route, catalog: catalog, caller: caller, address: client, data: data,
                roomID: Self.roomID(parameters), sort: try Self.sort(route, data), pass: pass, slot: slot)
        } catch {
            settle(pass, error)
            throw error
        }
    }

    /// Without a login only the address is counted: by a name in the body, anybody could use up another's.
    private func admitStranger(
        _ request: HTTPRequest, to route: Route, _ parameters: [(name: String, value: String)], from client: IPAddress,
        _ limits: [RateLimit], _ catalog: Catalog
    ) throws(ServiceError) -> AdmittedCall {
        let data: JSONValue
        do throws(ServiceError) {
            data = try self.data(of: request, to: route, parameters, from: client, nil)
        } catch {
            giveBackFailures(of: limits, client)
            throw error
        }
        let pass = try passLimits(limits, person: nil, address: client, isAddressCounted: true)
        return AdmittedCall(
            route: route, catalog: catalog, caller: nil, address: client, data: data, roomID: Self.roomID(parameters),
            sort: .activity, pass: pass, slot: nil)
    }

    // MARK: The request

    private static func roomID(_ parameters: [(name: String, value: String)]) -> String? {
        parameters.first { $0.name == "roomId" }?.value
    }

    private func data(
        of request: HTTPRequest, to route: Route, _ parameters: [(name: String, value: String)], from client: IPAddress,
        _ claims: AccessClaims?
    ) throws(ServiceError) -> JSONValue {
        let data = try Self.data(of: request, parameters)
        return route.wantsClient ? describe(client, with: request, claims, in: data) : data
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

import Foundation
import ParlorClient

extension Parlor {
    /// Answers a request as the contract says. A refusal is an answer, too.
    mutating func answer(_ request: HTTPRequest) -> HTTPResponse {
        let headers = Dictionary(request.headers.map { ($0.lowercased(), $1) }) { $1 }
        let requestID = headers["x-request-id"] ?? "request-\(nextNumber())"
        var answered = ["x-request-id": requestID, "content-type": "application/json"]
        do {
            try checkRefusals(for: "\(request.method) \(request.path)")
            let answer = try perform(request, headers)
            guard answer.status != 204 else { return HTTPResponse(status: 204, headers: answered) }
            var members: [String: JSON] = ["data": answer.data]
            if let next = answer.next { members["page"] = .object(["next": .optional(next)]) }
            return HTTPResponse(status: answer.status, headers: answered, body: JSON.object(members).data)
        } catch {
            let failure: [String: JSON] = [
                "code": .string(error.code), "message": .string(error.message), "requestId": .string(requestID),
            ]
            if let wait = error.retryAfter { answered["retry-after"] = String(wait.components.seconds) }
            let body = JSON.object(["error": .object(failure)]).data
            return HTTPResponse(status: error.status, headers: answered, body: body)
        }
    }

    private mutating func perform(_ request: HTTPRequest, _ headers: [String: String]) throws(Refused) -> Answer {
        let path = request.path.split(separator: "/").map { $0.removingPercentEncoding ?? String($0) }
        let query = Dictionary(request.query.map { ($0.name, $0.value ?? "") }) { $1 }
        var fields = JSON.object([:])
        if let body = request.body, !body.isEmpty {
            guard let parsed = JSON(parsing: body), case .object = parsed else {
                throw .malformed("The body is not a JSON object.")
            }
            fields = parsed
        }
        let plugin = pluginRoute(request.method, path)
        guard plugin != nil || path.first == "api" else { throw Self.noRoute }
        switch (request.method, path) {
        case ("POST", ["api", "auth", "register"]): return try register(fields)
        case ("POST", ["api", "auth", "login"]): return try logIn(fields)
        case ("POST", ["api", "auth", "refresh"]): return try refresh(fields)
        default: break
        }
        let token = headers["authorization"].flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
        guard let token, let userID = userID(of: token) else { throw .unauthenticated }
        if let plugin {
            let fields = fields.adding(query.mapValues(JSON.string)).adding(plugin.parameters)
            return try run(plugin.handler, fields, by: userID)
        }
        switch path[1...].first {
        case "rooms": return try performInRooms(request.method, Array(path.dropFirst(2)), query, fields, by: userID)
        case "devices":
            return try performOnDevices(
                request.method, Array(path.dropFirst()), fields, by: userID, family: tokens[token]?.family ?? 0)
        default: return try performElsewhere(request.method, Array(path.dropFirst()), query, fields, by: userID)
        }
    }

    private mutating func performElsewhere(
        _ method: String, _ path: [String], _ query: [String: String], _ fields: JSON, by userID: String
    ) throws(Refused) -> Answer {
        switch (method, path.count, path.first, path.last) {
        case ("POST", 2, "auth", "logout"): return try logOut(fields)
        case ("GET", 2, "users", "me"):
            guard let account = accounts[userID] else { throw .notFound("user") }
            return Answer(200, Self.json(account.person))
        case ("GET", 2, "users", "without-rooms"): return try peopleWithoutRooms(userID, query)
        case ("GET", 3, "users", "messages"): return try conversation(with: path[1], query, by: userID)
        case ("GET", 1, "sync", _): return try sync(query, by: userID)
        default: throw Self.refusal(of: path)
        }
    }

    private mutating func performOnDevices(
        _ method: String, _ path: [String], _ fields: JSON, by userID: String, family: Int
    ) throws(Refused) -> Answer {
        switch (method, path.count) {
        case ("POST", 1):
            let token = try fields.required("token")
            let isKnown = devices[token]?.userID == userID
            devices[token] = Device(userID: userID, family: family)
            return Answer(isKnown ? 200 : 201, .object([:]))
        case ("DELETE", 2):
            if devices[path[1]]?.userID == userID { devices[path[1]] = nil }
            return Answer(204)
        default: throw Self.refusal(of: path)
        }
    }

    /// Handles a request below `/api/rooms`.
    ///
    /// - Parameter path: the segments after `/api/rooms`.
    private mutating func performInRooms(
        _ method: String, _ path: [String], _ query: [String: String], _ fields: JSON, by userID: String
    ) throws(Refused) -> Answer {
        let id = path.first
        switch (method, path.count, path.dropFirst().first) {
        case ("POST", 0, _): return try makeRoom(fields, by: userID)
        case ("GET", 1, _) where id == "my-rooms": return try myRooms(of: userID, sort: query["sort"])
        case ("GET", 1, _) where id == "grouped-by-person": return roomsByPerson(of: userID)
        case ("GET", 1, _): return Answer(200, json(try room(id, of: userID), for: userID))
        case ("PUT", 2, "name"): return try rename(id, fields, by: userID)
        case ("GET", 2, "messages"): return try messages(in: id, query, by: userID)
        case ("POST", 2, "messages"): return try send(fields, in: id, by: userID)
        case ("POST", 3, "messages") where path[2] == "read": return try markRead(fields, in: id, by: userID)
        case ("DELETE", 3, "messages"): return try deleteMessage(path[2], in: id, by: userID)
        case ("GET", 2, "elements"): return try elements(in: id, query, by: userID)
        case ("POST", 2, "elements"): return try makeElement(fields, in: id, by: userID)
        case ("DELETE", 2, "elements"): return try clear(id, by: userID)
        case ("PATCH", 3, "elements"): return try updateElement(path[2], fields, in: id, by: userID)
        case ("DELETE", 3, "elements"): return try deleteElement(path[2], in: id, by: userID)
        default: throw Self.refusal(of: ["rooms"] + path)
        }
    }

    /// The paths of the routes after `/api`; `*` stands for an id.
    private static let routes = [
        "auth/register", "auth/login", "auth/refresh", "auth/logout", "users/me", "users/without-rooms",
        "users/*/messages", "sync", "devices", "devices/*", "rooms", "rooms/*", "rooms/*/name", "rooms/*/messages",
        "rooms/*/messages/*", "rooms/*/elements", "rooms/*/elements/*",
    ].map { $0.split(separator: "/").map(String.init) }

    /// Returns the refusal for a path that has no handler: there is no such route, or it lacks this method.
    private static func refusal(of path: [String]) -> Refused {
        let isRoute = routes.contains { route in
            route.count == path.count && zip(route, path).allSatisfy { $0 == "*" || $0 == $1 }
        }
        return isRoute
            ? Refused(status: 405, code: "method_not_allowed", message: "The route does not support this method.")
            : noRoute
    }

    private static let noRoute = Refused(status: 404, code: "route_not_found", message: "There is no such route.")
}

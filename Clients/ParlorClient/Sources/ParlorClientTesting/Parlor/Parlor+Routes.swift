import ParlorClient

extension Parlor {
    /// Answers a request as the contract says. A refusal is an answer, too.
    mutating func answer(_ request: HTTPRequest) -> HTTPResponse {
        let requestID = request.header("x-request-id") ?? "request-\(numbers.nextNumber())"
        var headers = ["x-request-id": requestID, "content-type": "application/json"]
        do {
            try checkRefusals(for: "\(request.method) \(request.path)")
            let answer = try perform(request)
            guard answer.status != 204 else { return HTTPResponse(status: 204, headers: headers) }
            var members: [String: JSON] = ["data": answer.data]
            if let next = answer.next { members["page"] = ["next": .optional(next)] }
            return HTTPResponse(status: answer.status, headers: headers, body: JSON.object(members).data)
        } catch {
            let failure: JSON = [
                "code": .string(error.code), "message": .string(error.message), "requestId": .string(requestID),
            ]
            if let wait = error.retryAfter { headers["retry-after"] = String(wait.components.seconds) }
            return HTTPResponse(status: error.status, headers: headers, body: JSON.object(["error": failure]).data)
        }
    }

    private mutating func perform(_ request: HTTPRequest) throws(Refused) -> Answer {
        let (query, fields) = (request.parameters, try request.fields())
        let plugin = plugins.route(request.method, request.segments)
        let isOwn = request.segments.first == "api"
        guard plugin != nil || isOwn else { throw Self.noRoute }
        let path = Array(request.segments.dropFirst())
        let route = isOwn ? Self.route(of: path) : nil
        switch (request.method, route) {
        case ("POST", "auth/register"):
            let person = try accounts.register(fields, &numbers)
            return Answer(201, sessions.open(for: person, &numbers).json)
        case ("POST", "auth/login"): return Answer(200, sessions.open(for: try accounts.logIn(fields), &numbers).json)
        case ("POST", "auth/refresh"): return Answer(200, try sessions.refresh(fields, &numbers).json)
        default: break
        }
        guard let token = sessions.token(request.token, at: numbers.now) else { throw .unauthenticated }
        let userID = token.userID
        if let plugin {
            let fields = fields.adding(query.mapValues(JSON.string)).adding(plugin.parameters)
            return try run(plugin.handler, fields, by: userID)
        }
        guard let route else { throw Self.noRoute }
        // The id of a room or a person, and that of a device or of a part of the room.
        let (id, part) = (path.dropFirst().first ?? "", path[path.count - 1])
        switch (request.method, route) {
        case ("POST", "auth/logout"):
            try sessions.logOut(fields)
            return Answer(204)
        case ("GET", "users/me"):
            guard let person = accounts[userID] else { throw .notFound("user") }
            return Answer(200, person.json())
        case ("GET", "users/without-rooms"):
            let partners = rooms.list(of: userID, by: \.updatedAt).flatMap { $0.others(than: userID) }
            return try accounts.page(query, without: Set(partners + [userID]))
        case ("GET", "users/*/messages"):
            guard accounts[id] != nil else { throw .notFound("user") }
            return try rooms.conversation(of: userID, with: id, query)
        case ("GET", "sync"): return try sync(query, by: userID)
        case ("POST", "devices"): return try sessions.registerDevice(fields, by: token)
        case ("DELETE", "devices/*"):
            sessions.removeDevice(part, of: userID)
            return Answer(204)
        case ("POST", "rooms"): return try makeRoom(fields, by: userID)
        case ("GET", "rooms/*") where id == "my-rooms": return try myRooms(of: userID, sort: query["sort"])
        case ("GET", "rooms/*") where id == "grouped-by-person": return roomsByPerson(of: userID)
        case ("GET", "rooms/*"): return Answer(200, json(try rooms.room(id, of: userID), for: userID))
        case ("GET", "rooms/*/participants"):
            return try rooms.room(id, of: userID).participants(query, present: gateway.people(in: id))
        case ("POST", "rooms/*/participants"): return try addPeople(fields, to: id, by: userID)
        case ("DELETE", "rooms/*/participants/*"):
            return try removePerson(["userId": .string(part)], from: id, by: userID)
        case ("PUT", "rooms/*/participants/*/role"):
            return try setRole(fields.adding(["userId": .string(path[3])]), in: id, by: userID)
        case ("PUT", "rooms/*/name"): return try rename(id, fields, by: userID)
        case ("GET", "rooms/*/messages"):
            let room = try rooms.room(id, of: userID)
            return try room.messages.page(query, room.json)
        case ("POST", "rooms/*/messages"): return try change(.send, fields, in: id, by: userID)
        case ("POST", "rooms/*/messages/*") where part == "read":
            return try change(.markRead, fields, in: id, by: userID)
        case ("DELETE", "rooms/*/messages/*"):
            return try change(.deleteMessage, ["messageId": .string(part)], in: id, by: userID)
        case ("GET", "rooms/*/elements"):
            return try rooms.room(id, of: userID).board.page(query) { $0.json(in: id) }
        case ("POST", "rooms/*/elements"): return try change(.createElement, fields, in: id, by: userID)
        case ("DELETE", "rooms/*/elements"): return try change(.clear, fields, in: id, by: userID)
        case ("PATCH", "rooms/*/elements/*"):
            return try change(.updateElement, fields.adding(["elementId": .string(part)]), in: id, by: userID)
        case ("DELETE", "rooms/*/elements/*"):
            return try change(.deleteElement, ["elementId": .string(part)], in: id, by: userID)
        default:
            throw Refused(status: 405, code: "method_not_allowed", message: "The route does not support this method.")
        }
    }

    private func sync(_ query: Query, by userID: String) throws(Refused) -> Answer {
        if let since = query["since"] {
            return try gateway.log.sync(since: since, query, by: userID, in: rooms.ids(of: userID))
        }
        let listed = rooms.list(of: userID, by: \.lastActivityAt).map { json($0, for: userID, isListed: true) }
        return Answer(200, ["cursor": .string(gateway.log.cursor(for: userID)), "rooms": .array(listed)])
    }

    private func myRooms(of userID: String, sort: String?) throws(Refused) -> Answer {
        let key: (RoomState) -> Int
        switch sort ?? "activity" {
        case "activity": key = \.lastActivityAt
        case "messages": key = { $0.messagesUpdatedAt ?? .min }
        case "content": key = \.updatedAt
        default: throw .invalid("sort", "must be activity, messages or content")
        }
        return Answer(200, .array(rooms.list(of: userID, by: key).map { json($0, for: userID, isListed: true) }))
    }

    private func roomsByPerson(of userID: String) -> Answer {
        let rooms = rooms.list(of: userID, by: \.updatedAt).filter { $0.kind == .direct }
        let groups = Set(rooms.flatMap { $0.others(than: userID) }).map { partner in
            let shared = rooms.filter { $0.participant(partner) != nil }
            return (latest: shared.map(\.lastActivityAt).max() ?? 0, id: partner, rooms: shared)
        }.sorted { ($0.latest, $0.id) > ($1.latest, $1.id) }
        let people = groups.compactMap { group in
            accounts[group.id]?.json().adding(["rooms": .array(group.rooms.map { json($0, for: userID) })])
        }
        return Answer(200, .array(people))
    }

    /// The paths of the routes after `/api`; `*` stands for an id.
    private static let routes = [
        "auth/register", "auth/login", "auth/refresh", "auth/logout", "users/me", "users/without-rooms",
        "users/*/messages", "sync", "devices", "devices/*", "rooms", "rooms/*", "rooms/*/name",
        "rooms/*/participants", "rooms/*/participants/*", "rooms/*/participants/*/role", "rooms/*/messages",
        "rooms/*/messages/*", "rooms/*/elements", "rooms/*/elements/*",
    ]

    private static func route(of path: [String]) -> String? {
        routes.first { route in
            let segments = route.split(separator: "/")
            return segments.count == path.count && zip(segments, path).allSatisfy { $0 == "*" || $0 == $1 }
        }
    }

    private static let noRoute = Refused(status: 404, code: "route_not_found", message: "There is no such route.")
}

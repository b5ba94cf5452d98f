import ParlorClient

/// The routes, events, badges and fields of services that a test has added.
struct Plugins: Sendable {
    private struct Route: Sendable {
        var method: String
        /// The path's segments; a parameter begins with a colon.
        var segments: [String]
        var handler: ScriptedCall.Handler
    }

    private var routes: [Route] = []
    var events: [String: ScriptedCall.Handler] = [:]
    /// The counts of badges, by name, room and person.
    var badges: [String: [String: [String: Int]]] = [:]
    /// The values of fields, by name and room.
    var fields: [String: [String: JSON]] = [:]

    /// Adds a route. It replaces one with the same method and path.
    mutating func addRoute(_ method: String, _ path: String, _ handler: @escaping ScriptedCall.Handler) {
        let segments = path.split(separator: "/").map(String.init)
        routes.removeAll { $0.method == method && $0.segments == segments }
        routes.append(Route(method: method, segments: segments, handler: handler))
    }

    /// Returns the handler for a path, and the path's parameters; nil if no plugin has such a route.
    func route(_ method: String, _ path: [String]) -> (handler: ScriptedCall.Handler, parameters: [String: JSON])? {
        for route in routes where route.method == method && route.segments.count == path.count {
            let pairs = zip(route.segments, path)
            guard pairs.allSatisfy({ $0.hasPrefix(":") || $0 == $1 }) else { continue }
            let parameters = pairs.filter { $0.0.hasPrefix(":") }.map { (String($0.dropFirst()), JSON.string($1)) }
            return (route.handler, Dictionary(parameters) { $1 })
        }
        return nil
    }

    /// Returns the members `badges` and `hasUnread` of a room for a person.
    func badges(of userID: String, in room: RoomState) -> [String: JSON] {
        var counts = badges.mapValues { $0[room.id]?[userID] ?? 0 }
        counts["messages"] = room.participant(userID).map(room.messages.unread) ?? 0
        counts["elements"] = room.board.unseen(by: userID)
        return [
            "badges": .object(counts.mapValues(JSON.integer)), "hasUnread": .bool(counts.values.contains { $0 > 0 }),
        ]
    }

    func fields(of roomID: String) -> JSON { .object(fields.mapValues { $0[roomID] ?? .null }) }
}

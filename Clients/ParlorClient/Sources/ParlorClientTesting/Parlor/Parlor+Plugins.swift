import ParlorClient

extension Parlor {
    /// The routes, events and fields of services that a test has added.
    struct Plugins: Sendable {
        struct Route: Sendable {
            var method: String
            /// The path's segments; a parameter begins with a colon.
            var segments: [String]
            var handler: ScriptedCall.Handler
        }

        var routes: [Route] = []
        var events: [String: ScriptedCall.Handler] = [:]
        /// The counts of badges, by name, room and person.
        var badges: [String: [String: [String: Int]]] = [:]
        /// The values of fields, by name and room.
        var fields: [String: [String: JSON]] = [:]
    }

    /// Returns the handler for a path, and the path's parameters; nil if no plugin has such a route.
    func pluginRoute(_ method: String, _ path: [String]) -> (
        handler: ScriptedCall.Handler, parameters: [String: JSON]
    )? {
        for route in plugins.routes where route.method == method && route.segments.count == path.count {
            let pairs = zip(route.segments, path)
            guard pairs.allSatisfy({ $0.hasPrefix(":") || $0 == $1 }) else { continue }
            let parameters = pairs.filter { $0.0.hasPrefix(":") }.map { (String($0.dropFirst()), JSON.string($1)) }
            return (route.handler, Dictionary(parameters) { $1 })
        }
        return nil
    }

    /// Runs a plugin's handler, and applies its effects.
    mutating func run(_ handler: ScriptedCall.Handler, _ fields: JSON, by userID: String) throws(Refused) -> Answer {
        var call = ScriptedCall(personID: userID, fields: fields)
        if !call.roomID.isEmpty { _ = try room(call.roomID, of: userID) }
        let data: JSON
        do {
            data = try handler(&call)
        } catch let refusal as Refusal {
            throw Refused(refusal)
        } catch {
            throw Refused(status: 500, code: "internal_error", message: "\(error)", isRetryable: true)
        }
        for effect in call.effects { apply(effect) }
        return Answer(call.status, data, next: call.isPage ? .some(call.nextPage) : nil)
    }

    mutating func apply(_ effect: ScriptedCall.Effect) {
        switch effect {
        case .emit(let event, let data, let audience, let roomID):
            emit(event, data, to: Audience(audience), in: roomID)
        case .badge(let name, let count, let personID, let roomID):
            plugins.badges[name, default: [:]][roomID, default: [:]][personID] = count
            if let room = rooms[roomID], room.isParticipant(personID) { emitBadges(of: personID, in: room) }
        case .field(let name, let value, let roomID): plugins.fields[name, default: [:]][roomID] = value
        }
    }

    /// Returns the members `badges` and `hasUnread` of a room for a person.
    func badges(of userID: String, in room: RoomState) -> [String: JSON] {
        var counts = plugins.badges.mapValues { $0[room.id]?[userID] ?? 0 }
        counts["messages"] = room.unread(by: userID)
        counts["elements"] = room.unseen[userID] ?? 0
        return [
            "badges": .object(counts.mapValues(JSON.integer)), "hasUnread": .bool(counts.values.contains { $0 > 0 }),
        ]
    }

    /// Returns the plugins' fields of a room.
    func pluginFields(of room: RoomState) -> JSON { .object(plugins.fields.mapValues { $0[room.id] ?? .null }) }
}

extension Parlor.Audience {
    init(_ audience: ScriptedCall.Audience) {
        switch audience {
        case .room: self = .room
        case .person(let id): self = .person(id)
        case .everyone: self = .everyone
        }
    }
}

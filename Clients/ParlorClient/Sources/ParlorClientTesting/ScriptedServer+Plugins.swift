import ParlorClient

// The routes, events, badges and fields of a plugin, without the plugin.
extension ScriptedServer {
    /// Handles a plugin's calls.
    public typealias Handler = ScriptedCall.Handler

    /// Adds a route. It replaces an earlier route with the same method and path, and even one of Parlor itself. Only
    /// registering, logging in and refreshing a session cannot be replaced.
    ///
    /// - Parameters:
    ///   - path: a path such as `/api/rooms/:roomId/polls`, with parameters as services declare them.
    ///   - handler: returns the answer's `data`.
    public func addRoute(_ method: String, _ path: String, handler: @escaping Handler) {
        step { $0.parlor.plugins.addRoute(method, path, handler) }
    }

    /// Adds a socket event. The handler returns an object; the ack has its members beside `success`.
    public func addSocketEvent(_ event: String, handler: @escaping Handler) {
        step { $0.parlor.plugins.events[event] = handler }
    }

    /// Sets a person's badge in a room, and sends the person `room:badges`. After the first call all rooms have the
    /// badge; it is 0 where it was not set.
    public func setBadge(_ name: String, to count: Int, in roomID: String, of personID: String) {
        apply(.setBadge(name, to: count, of: personID), in: roomID)
    }

    /// Sets a field of a room, for all of its participants. After the first call all rooms have the field; it is null
    /// where it was not set. As with a real service, no event is sent: the next answer has the field.
    public func setField(_ name: String, to value: JSON, in roomID: String) {
        apply(.setField(name, to: value), in: roomID)
    }

    /// Emits an event of a plugin. `roomId` is added to its data. Clients that are offline get the event when they
    /// return, unless it is for everyone.
    public func emit(_ event: String, _ data: JSON, in roomID: String, to audience: ScriptedCall.Audience = .room) {
        apply(.emit(event, data, in: roomID, to: audience), in: roomID)
    }

    private func apply(_ effect: Effect, in roomID: String) {
        step { network in
            network.parlor.apply([effect], in: roomID)
            network.flush()
        }
    }
}

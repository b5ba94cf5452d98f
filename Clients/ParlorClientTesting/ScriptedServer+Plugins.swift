import ParlorClient

// What a service that is added to Parlor can do for an app, without the service.
extension ScriptedServer {
    /// Answers a plugin's calls. It may keep state of its own behind a lock, and throw a `Refusal`; any other
    /// error is answered as `internal_error`. It runs within a step of the server, so it must not call the
    /// server: it acts through the call.
    public typealias Handler = @Sendable (inout ScriptedCall) throws -> JSON

    /// Adds a route. A later one with the same method and path replaces it.
    ///
    /// - Parameters:
    ///   - path: such as `/api/rooms/:roomId/polls`, with parameters as services declare them. A route of Parlor
    ///     itself is replaced.
    ///   - handler: returns the answer's `data`.
    public func addRoute(_ method: String, _ path: String, handler: @escaping Handler) {
        let segments = path.split(separator: "/").map(String.init)
        step { network in
            network.parlor.plugins.routes.removeAll { $0.method == method && $0.segments == segments }
            network.parlor.plugins.routes.append(.init(method: method, segments: segments, handler: handler))
        }
    }

    /// Adds a socket event. The handler returns an object, whose members the ack has beside `success`.
    public func addSocketEvent(_ event: String, handler: @escaping Handler) {
        step { $0.parlor.plugins.events[event] = handler }
    }

    /// Sets a person's badge in a room, and sends the person `room:badges`. From the first call on, all Rooms
    /// have the badge; it is 0 where it was not set.
    public func setBadge(_ name: String, to count: Int, in roomID: String, of personID: String) {
        apply(.badge(name, count, personID: personID, roomID: roomID))
    }

    /// Sets a field of a Room, for all of its participants. From the first call on, all Rooms have the field; it
    /// is null where it was not set. No event is sent: as with a service, the next answer has it.
    public func setField(_ name: String, to value: JSON, in roomID: String) {
        apply(.field(name, value, roomID: roomID))
    }

    /// Emits an event of a plugin; `roomId` is added to its data. Clients that are away get it when they return,
    /// unless it is for everyone.
    public func emit(_ event: String, _ data: JSON, in roomID: String, to audience: ScriptedCall.Audience = .room) {
        apply(.emit(event, data, audience, roomID: roomID))
    }

    private func apply(_ effect: ScriptedCall.Effect) {
        step { network in
            network.parlor.apply(effect)
            network.flush()
        }
    }
}

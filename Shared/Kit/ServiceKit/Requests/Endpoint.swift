import ParlorContracts

/// A request that a service answers, declared once: its subject, and the routes and socket events that
/// gateways map to it.
///
///     static let rename = Endpoint("rooms.rename").route("PUT", "/api/rooms/:roomId/name", answer: .room)
///
/// It is registered with its handler (`requests.onRoom(.rename) { … }`), and the manifest lists the
/// registered endpoints. So it lists none without a handler. The names of rate limits must be those of the
/// service (`Service.limits`) or of gateways (`RateLimit.namesOfGateways`): any other ends the process when
/// the endpoint is registered.
public struct Endpoint: Sendable {
    public let subject: String
    public private(set) var routes: [Route] = []
    public private(set) var socketEvents: [SocketEvent] = []
    public private(set) var checks: [RequestCheck] = []
    /// The description for clients; nil if there is none.
    public private(set) var description: RequestDescription?

    /// Creates an endpoint without routes and socket events, which only other services and gateways
    /// themselves can request.
    public init(_ subject: String) { self.subject = subject }

    /// Returns the endpoint with one more HTTP route; the parameters are those of `Route`.
    public func route(
        _ method: String, _ path: String, needsLogin: Bool = true, answer: Route.Answer = .plain,
        shows: ShownObject? = nil, limits: [String] = [], isHeavy: Bool? = nil, maxBodyBytes: Int? = nil,
        wantsClient: Bool = false, isConfidential: Bool = false
    ) -> Endpoint {
        var endpoint = self
        endpoint.routes.append(
            Route(
                method, path, subject, needsLogin: needsLogin, answer: answer, shows: shows, limits: limits,
                isHeavy: isHeavy, maxBodyBytes: maxBodyBytes, wantsClient: wantsClient, isConfidential: isConfidential))
        return endpoint
    }

    /// Returns the endpoint as a check before another service's requests; the parameters are those of
    /// `RequestCheck`. The handler gets the fields and the caller of the request. Any reply allows it, and a thrown
    /// `ServiceError` denies it, except `internal` and `serviceUnavailable`: those count as no reply, as does any
    /// other error.
    public func check(
        before: String, whenAway: RequestCheck.WhenAway, deadline: Duration = RequestCheck.standardDeadline
    ) -> Endpoint {
        var endpoint = self
        endpoint.checks.append(RequestCheck(before: before, subject, whenAway: whenAway, deadline: deadline))
        return endpoint
    }

    /// Returns the endpoint with a description, which is shown in `openapi.json` and `asyncapi.json`. If the
    /// endpoint is registered with `onRoom`, `roomId` and `room_not_found` are added to the description.
    public func described(_ description: RequestDescription) -> Endpoint {
        var endpoint = self
        endpoint.description = description
        return endpoint
    }

    /// Returns the endpoint with one more socket event; the parameters are those of `SocketEvent`.
    public func socketEvent(
        _ event: String, ackName: String? = nil, ackCopies: [(name: String, from: String)] = [],
        answer: Route.Answer = .plain, limits: [String] = []
    ) -> Endpoint {
        var endpoint = self
        endpoint.socketEvents.append(
            SocketEvent(event, subject, ackName: ackName, ackCopies: ackCopies, answer: answer, limits: limits))
        return endpoint
    }
}

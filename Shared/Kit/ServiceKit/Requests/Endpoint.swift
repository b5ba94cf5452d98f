import Contracts

/// A request that a service answers, declared once: its subject, and the routes and socket events that gateways map onto it.
///
///     static let rename = Endpoint("rooms.rename").route("PUT", "/api/rooms/:roomId/name", answer: .room)
///
/// It is registered with its handler (`requests.onRoom(.rename) { … }`), and the manifest lists what was registered. So
/// nothing is declared without a handler. The names of rate limits have to be those of the service (`Service.limits`) or of
/// gateways (`RateLimit.namesOfGateways`): any other ends the process when the endpoint is registered.
public struct Endpoint: Sendable {
    public let subject: String
    public private(set) var routes: [Route] = []
    public private(set) var socketEvents: [SocketEvent] = []

    /// A request of other services, or of gateways themselves, until it has a route or a socket event.
    public init(_ subject: String) { self.subject = subject }

    /// The same with one more HTTP route; the parameters are `Route`'s.
    public func route(
        _ method: String, _ path: String, needsLogin: Bool = true, answer: Route.Answer = .plain,
        limits: [String] = [], isHeavy: Bool? = nil, maxBodyBytes: Int? = nil, wantsClient: Bool = false
    ) -> Endpoint {
        var endpoint = self
        endpoint.routes.append(
            Route(
                method, path, subject, needsLogin: needsLogin, answer: answer, limits: limits, isHeavy: isHeavy,
                maxBodyBytes: maxBodyBytes, wantsClient: wantsClient))
        return endpoint
    }

    /// The same with one more socket event; the parameters are `SocketEvent`'s.
    public func socketEvent(
        _ event: String, ackName: String? = nil, ackCopies: [(name: String, from: String)] = [], limits: [String] = []
    ) -> Endpoint {
        var endpoint = self
        endpoint.socketEvents.append(
            SocketEvent(event, subject, ackName: ackName, ackCopies: ackCopies, limits: limits))
        return endpoint
    }
}

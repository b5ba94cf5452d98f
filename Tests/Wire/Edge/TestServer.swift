import ParlorEdge
import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorSocketIO
import ParlorTestSupport
import Synchronization
import Testing

/// A call to a delegate.
enum DelegateCall: Sendable, Equatable {
    case asked(namespace: String, auth: String?, query: String?, authorization: String?)
    case event(String, [String], ack: Int?)
    case refused(String, ack: Int?, SocketIORefusal)
    case left(String)
    case message(String)
    case closed(SocketCloseReason)
}

/// Reports its calls to a test, and behaves as the test says.
final class TestDelegate: RequestDelegate, SocketDelegate {
    struct Behaviour: Sendable {
        var onRequest: @Sendable (HTTPRequest, IPAddress, HTTPResponder) -> Void = { _, _, responder in
            responder.send(HTTPResponse(status: 404))
        }
        var onLargeBody: @Sendable (HTTPRequest) -> HTTPResponse? = { _ in nil }
        var secondsToWait: @Sendable (IPAddress) -> Int? = { _ in nil }
        var onConnect: @Sendable (Socket, JSONValue?) -> Void = { socket, _ in socket.accept() }
        var onEvent: @Sendable (Socket, SocketIOEvent) -> Void = { socket, event in
            if let id = event.ackID { socket.send(.ack(id, event.arguments)) }
        }
        /// Called when the server asks whose a request is.
        var onLookup: @Sendable () -> Void = {}
        /// Called with messages of the plain WebSocket at `/ws`.
        var onMessage: @Sendable (PlainWebSocket, String) -> Void = { _, _ in }
    }

    private let behaviour: Behaviour
    private let calls: AsyncStream<DelegateCall>.Continuation

    init(_ behaviour: Behaviour, calls: AsyncStream<DelegateCall>.Continuation) {
        self.behaviour = behaviour
        self.calls = calls
    }

    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder) {
        guard request.path == "/ws" else { return behaviour.onRequest(request, client, responder) }
        responder.openWebSocket(for: request, maxMessageBytes: 1 << 20) { [calls, behaviour] webSocket, message, _ in
            let text = String(decoding: message, as: UTF8.self)
            calls.yield(.message(text))
            behaviour.onMessage(webSocket, text)
        }
    }

    func refusal(ofLargeBody request: HTTPRequest, from client: IPAddress, requestID: String) -> HTTPResponse? {
        behaviour.onLargeBody(request)
    }

    func person(of request: HTTPRequest) -> String? {
        behaviour.onLookup()
        return request.headers["Authorization"]
    }

    func secondsToWait(of client: IPAddress) -> Int? { behaviour.secondsToWait(client) }

    func socket(_ socket: Socket, asksToConnect namespace: String, auth: JSONValue?) {
        calls.yield(
            .asked(
                namespace: namespace, auth: auth?.text, query: socket.handshake.token,
                authorization: socket.handshake.authorization))
        behaviour.onConnect(socket, auth)
    }

    func socket(_ socket: Socket, takes event: SocketIOEvent, ofBytes bytes: Int) -> Bool {
        if event.name != "large" { return true }
        socket.send(.ack(event.ackID ?? 0, [JSONValue(bytes)]))
        return false
    }

    func socket(_ socket: Socket, received event: SocketIOEvent, ofBytes bytes: Int) {
        calls.yield(.event(event.name, event.arguments.map(\.text), ack: event.ackID))
        behaviour.onEvent(socket, event)
    }

    func socket(_ socket: Socket, refused event: SocketIOEvent, ofBytes bytes: Int, because refusal: SocketIORefusal) {
        calls.yield(.refused(event.name, ack: event.ackID, refusal))
        if let id = event.ackID { socket.send(.ack(id, [JSONValue(false)])) }
    }

    func socket(_ socket: Socket, leftNamespace namespace: String) { calls.yield(.left(namespace)) }

    func socketDidClose(_ socket: Socket, reason: SocketCloseReason) { calls.yield(.closed(reason)) }
}

/// A server on a port of its own, with its delegates' calls.
struct TestServer {
    let edge: EdgeServer
    let group: EventLoopGroup
    private let calls: AsyncStream<DelegateCall>

    /// Runs a test, then drains the server.
    static func run(
        loops: Int = 1, configuration: EdgeConfiguration = .socketIO(), _ behaviour: TestDelegate.Behaviour = .init(),
        _ test: (TestServer) async throws -> Void
    ) async throws {
        // Unbounded: a test reads all that it causes.
        let (stream, continuation) = AsyncStream.makeStream(of: DelegateCall.self, bufferingPolicy: .unbounded)
        let group = try EventLoopGroup(loopCount: loops)
        let edge = try await EdgeServer.start(host: "127.0.0.1", port: 0, on: group, configuration: configuration) {
            _ in
            let delegate = TestDelegate(behaviour, calls: continuation)
            return (delegate, delegate)
        }
        let server = TestServer(edge: edge, group: group, calls: stream)
        do {
            try await test(server)
        } catch {
            group.shutdown()
            throw error
        }
        await edge.drain(within: .seconds(1))
        group.shutdown()
        // Everything has ended, so nothing may be counted.
        #expect(edge.counters.connections.value == 0 && edge.counters.sockets.value == 0)
        #expect(edge.counters.unconnectedSockets == 0 && edge.counters.bufferedBytes == 0)
    }

    func next() async -> DelegateCall? {
        for await event in calls { return event }
        return nil
    }

    /// Waits for the first matching call.
    func first(where matches: (DelegateCall) -> Bool) async -> DelegateCall? {
        for await event in calls where matches(event) { return event }
        return nil
    }

    /// - Parameter host: the last byte of the client's address: 127.0.0.`host`.
    func client(receiveBuffer: Int32? = nil, from host: UInt8 = 1) throws -> RawClient {
        try RawClient(port: edge.port, receiveBuffer: receiveBuffer, from: [127, 0, 0, host])
    }

    /// Returns a client after the handshake, and the session's id.
    func webSocket(
        receiveBuffer: Int32? = nil, from host: UInt8 = 1, query: String = "", headers: [String] = []
    ) throws -> RawClient {
        let client = try client(receiveBuffer: receiveBuffer, from: host)
        guard try client.openWebSocket("/socket.io/?EIO=4&transport=websocket\(query)", headers: headers).status == 101,
            try client.receiveFrame()?.hasPrefix("0{") == true
        else { throw Refused() }
        return client
    }

    /// Returns a client that is connected to the main namespace.
    func connected(receiveBuffer: Int32? = nil, from host: UInt8 = 1) throws -> RawClient {
        let client = try webSocket(receiveBuffer: receiveBuffer, from: host)
        try client.sendFrame("40")
        guard try client.receiveFrame()?.hasPrefix("40{") == true else { throw Refused() }
        return client
    }

    /// Requests answers of 8 KiB one after the other, until so many bytes wait in this process for
    /// the client, which reads nothing.
    ///
    /// - Returns: the number of requests.
    func leaveUnread(by client: RawClient, atLeast bytes: Int, headers: [String] = []) async throws -> Int {
        let before = edge.counters.bufferedBytes
        let request = (["GET / HTTP/1.1", "Host: x"] + headers).joined(separator: "\r\n") + "\r\n\r\n"
        var count = 0
        while edge.counters.bufferedBytes - before < bytes {
            let asked = edge.counters.requests.value
            try client.send(request)
            count += 1
            guard await settles({ $0.requests.value > asked }) else { throw Refused() }
            await turns()
        }
        return count
    }

    /// Waits until each loop has ended its current turn.
    func turns() async {
        for loop in group.loops {
            await withCheckedContinuation { continuation in
                loop.execute { loop.inNextTurn { continuation.resume() } }
            }
        }
    }

    /// Returns whether a condition becomes true, within more time than it takes on a busy machine.
    func settles(_ condition: (EdgeCounters) -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(30)
        while !condition(edge.counters) {
            if ContinuousClock.now > end { return false }
            await Task.yield()
        }
        return true
    }

    /// Opens a session by polling.
    func polling() throws -> String {
        let opened = try client().request("GET", "/socket.io/?EIO=4&transport=polling")
        guard opened.status == 200, let sid = try JSONValue(parsing: String(opened.body.dropFirst()))["sid"]?.string
        else { throw Refused() }
        return sid
    }

    struct Refused: Error {}
}

extension EdgeConfiguration {
    /// Returns a configuration that disconnects no slow client, as a test's clients are slow on a
    /// busy machine.
    static func socketIO(
        _ socketIO: SocketIOConfiguration = SocketIOConfiguration(), engine: EngineConfiguration = EngineConfiguration()
    ) -> EdgeConfiguration {
        EdgeConfiguration(endpoints: [EdgeEndpoint(path: "/socket.io/", .socketIO(engine, socketIO))]).with {
            ($0.headTimeout, $0.bodyTimeout) = (.seconds(60), .seconds(60))
            ($0.idleTimeout, $0.writeTimeout) = (.seconds(60), .seconds(60))
        }
    }

    /// Returns the configuration of a Socket.IO server with other limits.
    static func limited(_ change: (inout EdgeLimits) -> Void) -> EdgeConfiguration {
        socketIO().with { change(&$0.limits) }
    }

    func with(_ change: (inout EdgeConfiguration) -> Void) -> EdgeConfiguration {
        var changed = self
        change(&changed)
        return changed
    }
}

import Foundation
import ParlorClient

/// One device's network to a ``ScriptedServer``: HTTP, sockets and their faults.
///
/// ```swift
/// let phone = server.makeDevice()
/// phone.loseNextAnswer()
/// ```
/// Faults with a count add up: two calls with a count of 1 affect two packets. Only ``dropSocket(afterPackets:)``
/// replaces an earlier call.
public struct ScriptedDevice: Sendable {
    let id: Int
    let server: ScriptedServer

    // MARK: Connections

    /// Turns airplane mode on or off. When it is turned on, all connections end at once, and packets that are on
    /// their way are lost. The server is unreachable until it is turned off.
    public func setAirplaneMode(_ isOn: Bool) {
        faults { $0.isOffline = isOn }
        if isOn { dropSockets() }
    }

    /// Ends the device's sockets abruptly. They can reconnect.
    public func dropSockets() { server.step { [id] in $0.dropAll(of: id) } }

    /// Ends a socket after `count` more packets. The packet after those is lost, and its socket ends.
    ///
    /// - Parameter count: the number of packets, of any kind, that are still delivered.
    public func dropSocket(afterPackets count: Int) { faults { $0.packetsUntilDrop = count } }

    // MARK: Requests and answers

    /// Loses the next requests, over HTTP or a socket, before the server gets them. A lost request on a socket ends
    /// the socket.
    public func loseNextRequests(_ count: Int = 1) { faults { $0.requestsToLose += count } }

    /// Loses the answer to the next request. The server has acted on that request.
    ///
    /// - Parameter dropsSocket: false to keep the socket of this answer open, which happens only with a faulty server.
    public func loseNextAnswer(droppingSocket dropsSocket: Bool = true) {
        faults { $0.answersToLose.append(.init(dropsSocket: dropsSocket)) }
    }

    /// Answers the next HTTP requests in place of the server, as a hotel's login page or a firewall does.
    public func interceptNextRequests(
        _ count: Int = 1, with body: Data, status: Int = 200, headers: [String: String] = [:]
    ) {
        let answer = HTTPResponse(status: status, headers: headers, body: body)
        faults { $0.foreignAnswers += Array(repeating: answer, count: count) }
    }

    /// Delays HTTP answers from now on, by the server's clock. The server itself acts without delay.
    public func delayAnswers(by delay: Duration) { faults { $0.answerDelay = delay } }

    /// Holds acks until ``release(_:)``. Events still arrive.
    public func holdAcks() { faults { $0.holdsAcks = true } }

    /// Delivers the next ack before the events that its request causes.
    public func sendNextAckFirst() { faults { $0.earlyAcks += 1 } }

    // MARK: Events

    /// Holds events until ``release(_:)``: all, or only those with these names.
    public func holdEvents(named names: Set<String>? = nil) {
        faults { $0.hold { name in names?.contains(name) ?? true } }
    }

    /// Delivers all held packets, and holds no more.
    public func release(_ order: ReleaseOrder = .asSent) { server.step { [id] in $0.release(order, to: id) } }

    /// Delivers the next events twice.
    public func doubleNextEvents(_ count: Int = 1) { faults { $0.eventsToDouble += count } }

    // MARK: Random faults

    /// Starts random faults. They are the same for the same seed.
    public func start(_ chaos: Chaos, seed: UInt64) { faults { $0.start(chaos, seed: seed) } }

    /// Stops random faults, and delivers late packets.
    public func stopChaos() {
        faults { $0.stopChaos() }
        release()
    }

    /// The names of the device's requests in order, such as `message:send` and `GET /api/rooms/my-rooms`. Lost requests
    /// are included.
    public var requests: [String] { server.step { [id] in $0.requests[id] ?? [] } }

    /// The number of the device's open sockets.
    public var socketCount: Int {
        server.step { [id] network in network.connections.values.count { $0.deviceID == id } }
    }

    private func faults(_ change: @Sendable (inout Faults) -> Void) {
        server.step { [id] network in
            guard var faults = network.faults[id] else { return }
            change(&faults)
            network.faults[id] = faults
        }
    }
}

extension ScriptedDevice: HTTPTransport, SocketTransport {
    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let (response, delay) = try server.step { [id] network in
            (try network.answer(request, to: id), network.faults[id]?.answerDelay ?? .zero)
        }
        guard delay > .zero else { return response }
        try await server.clock.sleep(for: delay)
        guard server.step({ [id] in $0.faults[id]?.isOffline }) == false else { throw Network.offline }
        return response
    }

    package func connect(to url: URL) async throws -> any SocketConnection {
        try Task.checkCancellation()
        return ScriptedConnection(id: try server.step { [id] in try $0.open(id) }, server: server)
    }
}

/// One socket of a device.
struct ScriptedConnection: SocketConnection {
    let id: Int
    let server: ScriptedServer

    func send(_ text: String) async throws { try server.step { [id] in try $0.send(text, on: id) } }

    func receive() async throws -> String {
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { receiver in
                    server.step { [id] in $0.receive(receiver, on: id) }
                }
            } onCancel: {
                close()
            }
        } catch {
            try Task.checkCancellation()
            throw error
        }
    }

    func close() { server.step { [id] in $0.drop(id) } }
}

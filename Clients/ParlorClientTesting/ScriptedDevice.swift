import Foundation
import ParlorClient

/// One device's network to a ``ScriptedServer``: HTTP, sockets and their faults.
///
/// ```swift
/// let phone = server.makeDevice()
/// phone.loseNextAnswer()
/// ```
/// Counted faults add up, and each packet uses up one.
public struct ScriptedDevice: HTTPTransport, SocketTransport {
    let id: Int
    let server: ScriptedServer

    // MARK: Away

    /// Switches airplane mode. All connections end at once, packets under way are lost, and the server is
    /// unreachable until it is off again.
    public func setAirplaneMode(_ isOn: Bool) {
        faults { $0.isOffline = isOn }
        if isOn { dropSockets() }
    }

    /// Ends the sockets abruptly. They may reconnect.
    public func dropSockets() { server.step { [id] in $0.dropAll(of: id) } }

    /// Ends the socket in place of a later packet: 0 is the next packet, of any kind.
    public func dropSocket(afterPackets count: Int) { faults { $0.packetsUntilDrop = count } }

    // MARK: Requests and answers

    /// Loses the next requests, over HTTP or sockets. A lost socket request ends its socket.
    public func loseNextRequests(_ count: Int = 1) { faults { $0.requestsToLose += count } }

    /// Loses the answer to the next request, though the server acts on it.
    ///
    /// - Parameter dropsSocket: false to keep the socket, as only a faulty server would.
    public func loseNextAnswer(droppingSocket dropsSocket: Bool = true) {
        faults {
            $0.answersToLose += 1
            $0.losesSocketWithAnswer = dropsSocket
        }
    }

    /// Lets an intermediary, such as a hotel's login page or a firewall, answer the next requests
    /// over HTTP.
    public func interceptNextRequests(_ count: Int = 1, with answer: HTTPResponse) {
        faults { $0.foreignAnswers += Array(repeating: answer, count: count) }
    }

    /// Delays HTTP answers from now on, by the server's clock. The server acts without delay.
    public func delayAnswers(by delay: Duration) { faults { $0.answerDelay = delay } }

    /// Holds acks of sockets until `release`; their events still arrive.
    public func holdAcks() { faults { $0.holdsAcks = true } }

    /// Sends the next ack before its events.
    public func sendNextAckFirst() { faults { $0.earlyAcks += 1 } }

    // MARK: Events

    /// Holds events until `release`: all, or those with these names.
    public func holdEvents(named names: Set<String>? = nil) {
        faults { $0.hold { name in names?.contains(name) ?? true } }
    }

    /// Delivers all held packets, and ends the holding.
    public func release(_ order: ReleaseOrder = .asSent) { server.step { [id] in $0.release(order, to: id) } }

    /// Delivers the next events twice.
    public func doubleNextEvents(_ count: Int = 1) { faults { $0.eventsToDouble += count } }

    // MARK: Chance

    /// Starts random faults, which are the same for the same seed.
    public func start(_ chaos: Chaos, seed: UInt64) { faults { $0.start(chaos, seed: seed) } }

    /// Stops random faults, and delivers late packets.
    public func stopChaos() {
        faults { $0.stopChaos() }
        release()
    }

    /// The device's requests in order, such as `message:send` and `GET /api/rooms/my-rooms`,
    /// including lost ones.
    public var requests: [String] { server.step { [id] in $0.requests[id] ?? [] } }

    /// The number of the device's open sockets.
    public var socketCount: Int {
        server.step { [id] network in network.connections.values.count { $0.deviceID == id } }
    }

    // MARK: Transports

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let (response, delay) = try server.step { [id] network in
            (try network.answer(request, to: id), network.faults[id]?.answerDelay ?? .zero)
        }
        guard delay > .zero else { return response }
        try await server.clock.sleep(for: delay)
        guard server.step({ [id] in $0.faults[id]?.isOffline }) == false else { throw Network.offline }
        return response
    }

    public func connect(to url: URL) async throws -> any SocketConnection {
        try Task.checkCancellation()
        return ScriptedConnection(id: try server.step { [id] in try $0.open(id) }, server: server)
    }

    private func faults(_ change: @Sendable (inout Faults) -> Void) {
        server.step { [id] network in
            guard var faults = network.faults[id] else { return }
            change(&faults)
            network.faults[id] = faults
        }
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

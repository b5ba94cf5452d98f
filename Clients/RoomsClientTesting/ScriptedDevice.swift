import Foundation
import RoomsClient

/// One device's way to a ``ScriptedServer``: both its HTTP and its sockets, and what is wrong with them.
///
/// ```swift
/// let phone = server.makeDevice()
/// phone.loseNextAnswer()
/// ```
/// Faults that are counted are used up, one packet each; they add to each other.
public struct ScriptedDevice: HTTPTransport, SocketTransport {
    let id: Int
    let server: ScriptedServer

    // MARK: Away

    /// All connections end at once, what is on its way is lost, and nothing can be reached until it is switched off again.
    public func setAirplaneMode(_ isOn: Bool) {
        faults { $0.isOffline = isOn }
        if isOn { dropSockets() }
    }

    /// Ends the sockets in the middle. They may come back.
    public func dropSockets() { server.step { [id] in $0.dropAll(of: id) } }

    /// Ends the socket in place of its next packet but `count`: 0 is the next one, whatever it is.
    public func dropSocket(afterPackets count: Int) { faults { $0.packetsUntilDrop = count } }

    // MARK: Requests and answers

    /// The next requests, over whichever, don't reach the server. A socket ends with it.
    public func loseNextRequests(_ count: Int = 1) { faults { $0.requestsToLose += count } }

    /// The server does what the next request asks for, but nobody here learns of it.
    ///
    /// - Parameter dropsSocket: false for a socket that stays, which only a server's fault explains.
    public func loseNextAnswer(droppingSocket dropsSocket: Bool = true) {
        faults {
            $0.answersToLose += 1
            $0.losesSocketWithAnswer = dropsSocket
        }
    }

    /// Something before the server, a hotel's login page or a firewall, answers the next requests over HTTP in its place.
    public func interceptNextRequests(_ count: Int = 1, with answer: HTTPResponse) {
        faults { $0.foreignAnswers += Array(repeating: answer, count: count) }
    }

    /// HTTP's answers take so long from now on, on the server's clock. The server is as fast as ever.
    public func delayAnswers(by delay: Duration) { faults { $0.answerDelay = delay } }

    /// Acks of sockets wait for `release`; the events before them come.
    public func holdAcks() { faults { $0.holdsAcks = true } }

    /// The next ack comes before the events that it follows.
    public func sendNextAckFirst() { faults { $0.earlyAcks += 1 } }

    // MARK: Events

    /// Events wait for `release`: all, or those of these names.
    public func holdEvents(named names: Set<String>? = nil) {
        faults { $0.hold { name in names?.contains(name) ?? true } }
    }

    /// What was held arrives, and nothing is held any more.
    public func release(_ order: ReleaseOrder = .asSent) { server.step { [id] in $0.release(order, to: id) } }

    /// The next events come twice.
    public func doubleNextEvents(_ count: Int = 1) { faults { $0.eventsToDouble += count } }

    // MARK: Chance

    /// From now on things go wrong by themselves, always the same with the same seed.
    public func start(_ chaos: Chaos, seed: UInt64) { faults { $0.start(chaos, seed: seed) } }

    /// Nothing goes wrong any more, and what was late arrives.
    public func stopChaos() {
        faults { $0.stopChaos() }
        release()
    }

    /// What the device has asked for, in order: `message:send`, `GET /api/rooms/my-rooms`. Also what was lost.
    public var requests: [String] { server.step { [id] in $0.requests[id] ?? [] } }

    /// How many sockets it has.
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

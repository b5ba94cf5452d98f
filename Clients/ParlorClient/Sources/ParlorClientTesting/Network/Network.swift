import ParlorClient

/// A scripted Parlor and the connections of its devices. Every call is one step. Only receivers wait.
struct Network: Sendable {
    struct Connection: Sendable {
        let deviceID: Int
        var inbox: [String] = []
        var receiver: CheckedContinuation<String, any Error>?
    }

    /// A receiver and its result. The receiver is resumed when the lock is free.
    struct Wake: Sendable {
        let receiver: CheckedContinuation<String, any Error>
        let result: Result<String, ClientFailure>

        func resume() { receiver.resume(with: result.mapError { $0 }) }
    }

    var parlor: Parlor
    var faults: [Int: Faults] = [:]
    /// The requests of each device, in the order of sending.
    var requests: [Int: [String]] = [:]
    private(set) var connections: [Int: Connection] = [:]
    private var lastSocketID = 0
    private var wakes: [Wake] = []

    init(parlor: Parlor) { self.parlor = parlor }

    mutating func takeWakes() -> [Wake] {
        defer { wakes = [] }
        return wakes
    }

    mutating func open(_ deviceID: Int) throws(ClientFailure) -> Int {
        guard faults[deviceID]?.isOffline == false else { throw Self.offline }
        lastSocketID += 1
        connections[lastSocketID] = Connection(deviceID: deviceID)
        parlor.gateway.open(lastSocketID)
        flush()
        return lastSocketID
    }

    mutating func send(_ text: String, on socketID: Int) throws(ClientFailure) {
        guard let deviceID = connections[socketID]?.deviceID else { throw Self.offline }
        let request = SocketRequest(text)
        if let request {
            requests[deviceID, default: []].append(request.event)
            // The device notices the loss because its socket ends.
            if faults[deviceID]?.losesRequest() == true { return drop(socketID) }
        }
        parlor.receive(text, on: socketID)
        flush(ackFirst: request?.ackID != nil && faults[deviceID]?.sendsAckFirst() == true ? socketID : nil)
    }

    mutating func receive(_ receiver: CheckedContinuation<String, any Error>, on socketID: Int) {
        guard var connection = connections[socketID] else {
            return wakes.append(Wake(receiver: receiver, result: .failure(Self.offline)))
        }
        if connection.inbox.isEmpty {
            precondition(connection.receiver == nil, "two tasks receive from one socket at the same time")
            connection.receiver = receiver
        } else {
            wakes.append(Wake(receiver: receiver, result: .success(connection.inbox.removeFirst())))
        }
        connections[socketID] = connection
    }

    /// Answers a request.
    ///
    /// - Throws: `ClientFailure.offline` if the request or its answer is lost.
    mutating func answer(_ request: HTTPRequest, to deviceID: Int) throws(ClientFailure) -> HTTPResponse {
        requests[deviceID, default: []].append("\(request.method) \(request.path)")
        guard faults[deviceID]?.isOffline == false, faults[deviceID]?.losesRequest() == false else {
            throw Self.offline
        }
        if faults[deviceID]?.foreignAnswers.isEmpty == false,
            let answer = faults[deviceID]?.foreignAnswers.removeFirst()
        {
            return answer
        }
        let response = parlor.answer(request)
        flush()
        guard faults[deviceID]?.loseAnswer() == nil else { throw Self.offline }
        return response
    }

    /// Ends a connection abruptly. Packets that are on their way are lost.
    mutating func drop(_ socketID: Int) {
        guard let connection = connections.removeValue(forKey: socketID) else { return }
        faults[connection.deviceID]?.forget(socketID)
        if let receiver = connection.receiver {
            wakes.append(Wake(receiver: receiver, result: .failure(Self.offline)))
        }
        parlor.gateway.close(socketID)
        flush()
    }

    mutating func dropAll(of deviceID: Int) {
        for id in connections.filter({ $0.value.deviceID == deviceID }).keys.sorted() { drop(id) }
    }

    /// Delivers the server's packets.
    ///
    /// - Parameter socketID: a socket whose ack is delivered before the events of the same step.
    mutating func flush(ackFirst socketID: Int? = nil) {
        let (deliveries, closed) = parlor.gateway.takeDeliveries()
        let early = deliveries.filter { $0.kind == .ack && $0.socketID == socketID }
        for packet in early { carry(packet) }
        for packet in deliveries where packet.kind != .ack || packet.socketID != socketID { carry(packet) }
        for id in closed { drop(id) }
    }

    mutating func release(_ order: ReleaseOrder, to deviceID: Int) {
        for packet in faults[deviceID]?.release(order) ?? [] { put(packet) }
    }

    private mutating func carry(_ packet: Gateway.Delivery) {
        guard let deviceID = connections[packet.socketID]?.deviceID,
            let passage = faults[deviceID]?.pass(packet)
        else { return }
        for packet in passage.packets { put(packet) }
        if passage.dropsSocket { drop(packet.socketID) }
    }

    private mutating func put(_ packet: Gateway.Delivery) {
        guard let receiver = connections[packet.socketID]?.receiver else {
            connections[packet.socketID]?.inbox.append(packet.text)
            return
        }
        connections[packet.socketID]?.receiver = nil
        wakes.append(Wake(receiver: receiver, result: .success(packet.text)))
    }

    static let offline = ClientFailure.offline("The network is unreachable.")
}

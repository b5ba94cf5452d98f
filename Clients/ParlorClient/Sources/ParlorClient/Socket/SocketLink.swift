import Foundation

/// One connection to the server, from its first packet to its end. It speaks Engine.IO 4 and Socket.IO 5, answers
/// pings, and matches acks with requests.
///
/// Packets are queued and sent in order. The link ends if the connection accepts nothing for `sendTimeout`, or if
/// more than `maxWaitingBytes` are queued.
actor SocketLink {
    /// The time limit for sending one packet. A connection that has lost its network accepts some data, then none,
    /// without an error. The limit is shorter than that of an ack, so that callers get this cause.
    static let sendTimeout: Duration = .seconds(8)
    /// The maximum of queued bytes, enough for 250 of the longest messages.
    private static let maxWaitingBytes = 4 << 20
    private static let deaf = ClientFailure.offline("the server does not read")

    /// What `next` returns.
    enum Incoming: Sendable, Equatable {
        case event(name: String, data: Data)
        /// The server asks this client not to reconnect.
        case dismissed
    }

    enum Admission: Sendable, Equatable {
        case accepted
        case refused(message: String, code: String?)
    }

    /// The failure of a connection whose server wants this client not to reconnect.
    static let dismissal = ClientFailure.refused(
        Refusal(code: "disconnected", message: "The server has ended the connection."))

    private enum Ack {
        case awaited
        case waiting(CheckedContinuation<Data, any Error>)
        case settled(Result<Data, any Error>)
    }

    private let connection: any SocketConnection
    private let clock: any ClientClock
    /// The time without a packet after which the connection counts as dead. The server's handshake sets it.
    private var longestSilence: Duration
    /// The time of the last packet.
    private(set) var lastActiveAt: Date
    private var pingInterval: Duration = .seconds(25)
    private var acks: [Int: Ack] = [:]
    private var nextAck = 0
    private var end: ClientFailure?
    private var outgoing: [String] = []
    private var waitingBytes = 0
    private var isSending = false

    init(_ connection: any SocketConnection, clock: any ClientClock, handshakeTimeout: Duration) {
        self.connection = connection
        self.clock = clock
        longestSilence = handshakeTimeout
        lastActiveAt = clock.now
    }

    // MARK: - Connecting

    /// Waits for the server's handshake.
    func open() async throws {
        guard case .open(let handshake) = try await receive() else {
            throw ClientFailure.offline("the server's first packet is not a handshake")
        }
        longestSilence = handshake.longestSilence
        pingInterval = handshake.timeBetweenPings
    }

    /// Joins the namespace. After a refusal, another token may be tried.
    func connect(auth: JSON) async throws -> Admission {
        send(try SocketPacket.connect(auth))
        while true {
            switch try await receivePacket() {
            case .connected: return .accepted
            case .refused(let message, let code): return .refused(message: message, code: code)
            case .disconnect: throw Self.dismissal
            case .event, .ack: continue
            }
        }
    }

    /// Returns true if no packet has arrived for five seconds longer than the ping interval. The connection is then
    /// dead, even if no error was reported.
    func isStale() -> Bool {
        clock.now.timeIntervalSince(lastActiveAt) > (pingInterval + .seconds(5)) / .seconds(1)
    }

    // MARK: - Receiving

    /// Returns the next event. Only one task may call this at a time. Between calls nothing is read, not even acks
    /// and pings.
    ///
    /// - Throws: `ClientFailure.offline` when the connection has ended; `ClientFailure.unreadable`;
    ///   `CancellationError`.
    func next() async throws -> Incoming {
        while true {
            switch try await receivePacket() {
            case .event(let name, let data): return .event(name: name, data: data)
            case .ack(let id, let data): settle(id, .success(data))
            case .disconnect: return .dismissed
            case .connected, .refused: continue
            }
        }
    }

    private func receivePacket() async throws -> SocketPacket {
        while true {
            switch try await receive() {
            case .message(let text): return try SocketPacket(text)
            case .ping(let payload): send("3" + payload)
            case .close: throw ClientFailure.offline("the server closed the connection")
            case .open, .pong, .noop: continue
            }
        }
    }

    private func receive() async throws -> EnginePacket {
        if let end { throw end }
        let text: String
        do {
            text = try await within(longestSilence, by: clock, else: "the server has fallen silent") { [connection] in
                try await connection.receive()
            }
        } catch {
            // If this side ended the link, its reason counts, not the resulting error.
            if let end { throw end }
            throw error
        }
        lastActiveAt = clock.now
        return try EnginePacket(text)
    }

    // MARK: - Sending

    /// Queues a packet, without waiting.
    private func send(_ text: String) {
        guard end == nil else { return }
        outgoing.append(text)
        waitingBytes += text.utf8.count
        guard waitingBytes <= Self.maxWaitingBytes else { return close(Self.deaf) }
        guard !isSending else { return }
        isSending = true
        Task { await sendAll() }
    }

    private func sendAll() async {
        while end == nil, !outgoing.isEmpty {
            let text = outgoing.removeFirst()
            waitingBytes -= text.utf8.count
            do {
                try await within(Self.sendTimeout, by: clock, else: "the server does not read") { [connection] in
                    try await connection.send(text)
                }
            } catch {
                close(error as? ClientFailure ?? Self.deaf)
            }
        }
        isSending = false
    }

    // MARK: - Asking

    /// Returns false if the server answers nothing in this time. A refusal is an answer, too.
    func answers(within limit: Duration) async -> Bool {
        do {
            // Leaving a room that was not joined has no effect. The server does not accept pings of clients.
            _ = try await ask("room:leave", ["roomId": .string("none")], timeout: limit)
            return true
        } catch {
            if case .offline? = error as? ClientFailure { return false }
            return true
        }
    }

    /// Sends an event, and waits for its ack.
    ///
    /// - Returns: the object of a successful ack.
    /// - Throws: `ClientFailure.refused`; `ClientFailure.offline` if the link has ended or no ack arrived in time;
    ///   `CancellationError`. The server may have acted, except after a refusal.
    func ask(_ event: String, _ payload: JSON, timeout: Duration) async throws -> Data {
        if let end { throw end }
        let id = nextAck
        nextAck += 1
        let packet = try SocketPacket.event(event, payload, ackID: id)
        acks[id] = .awaited
        let timer = Task { [clock] in
            // A cancelled sleep is no longer needed.
            guard (try? await clock.sleep(for: timeout)) != nil else { return }
            settle(id, .failure(ClientFailure.offline("\(event) was not answered in time")))
        }
        defer {
            timer.cancel()
            acks[id] = nil
        }
        send(packet)
        let data = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait(for: id, $0) }
        } onCancel: {
            Task { await self.settle(id, .failure(CancellationError())) }
        }
        return try SocketAck.check(data)
    }

    /// Sends an event without an ack.
    func send(_ event: String, _ payload: JSON) throws {
        if let end { throw end }
        send(try SocketPacket.event(event, payload, ackID: nil))
    }

    private func wait(for id: Int, _ continuation: CheckedContinuation<Data, any Error>) {
        if case .settled(let result) = acks[id] { return continuation.resume(with: result) }
        acks[id] = .waiting(continuation)
    }

    /// Ends a request. Only its first outcome counts. An ack that no request waits for came too late, and is ignored.
    private func settle(_ id: Int, _ result: Result<Data, any Error>) {
        switch acks[id] {
        case .awaited: acks[id] = .settled(result)
        case .waiting(let continuation):
            acks[id] = .settled(result)
            continuation.resume(with: result)
        case .settled, nil: break
        }
    }

    // MARK: - Ending

    /// Ends the link and fails all pending acks. Only the first call counts.
    func close(_ failure: ClientFailure) {
        guard end == nil else { return }
        end = failure
        outgoing = []
        connection.close()
        for id in acks.keys { settle(id, .failure(failure)) }
    }
}

/// Parses the object of an ack.
enum SocketAck {
    private struct Head: Decodable {
        let success: Bool
        let error: SocketError?
    }

    /// Returns the data of a successful ack as it is.
    ///
    /// - Throws: `ClientFailure.refused`, or `unreadable`.
    static func check(_ data: Data) throws(ClientFailure) -> Data {
        let head = try ServerDecoder().decode(Head.self, from: data)
        if head.success { return data }
        guard let error = head.error else { throw .unreadable("a refusal without a reason") }
        throw .refused(error.refusal)
    }
}

import ParlorJSON
import ParlorReactor
import ParlorSecurity
import ParlorWebSocket

/// One socket of a person: Socket.IO 5 over Engine.IO 4 over WebSocket, as far as Parlor needs it.
/// Use it on its loop only.
package final class SocketIOClient: ChannelHandler {
    /// Called with each event's name and its one argument; when it is set, also with those that
    /// arrived before.
    package var onEvent: ((ArraySlice<UInt8>, JSONValue) -> Void)? {
        didSet {
            let early = early
            self.early = []
            for event in early { onEvent?(event.name, event.argument) }
        }
    }
    /// Called once when the socket has ended, for any reason.
    package var onEnd: ((ClientError) -> Void)?
    package private(set) var failure: ClientError?

    private let channel: Channel
    private let auth: JSONValue
    private let handshake: WebSocketClientHandshake
    private var head: HTTPAnswerReader? = HTTPAnswerReader()
    private var parser = WebSocketParser(role: .client)
    private var isConnected = false
    /// Called when the namespace is joined, or the attempt has failed.
    private var opened: ((Result<Void, ClientError>) -> Void)?
    private var early: [(name: ArraySlice<UInt8>, argument: JSONValue)] = []
    private var nextAck = 0
    private var acks: [Int: (Result<JSONValue, ClientError>) -> Void] = [:]

    private init(_ channel: Channel, to server: ServerAddress, auth: JSONValue) {
        self.channel = channel
        self.auth = auth
        handshake = WebSocketClientHandshake(nonce: SystemRandomness().bytes(16))
        channel.write(handshake.request(host: server.name, target: "/socket.io/?EIO=4&transport=websocket"))
    }

    /// Connects, and returns when the server has accepted the person. Call it on `loop`.
    ///
    /// - Parameters:
    ///   - cursor: the position to catch up from.
    ///   - timeout: the limit for the TCP connection, and again for all that follows.
    package static func connect(
        to server: ServerAddress, token: String, since cursor: String? = nil, timeout: Duration = .seconds(10),
        on loop: EventLoop
    ) async throws(ClientError) -> SocketIOClient {
        let auth = JSONWriter.object {
            $0.member("token", token)
            if let cursor { $0.member("since", cursor) }
        }
        let channel: Channel
        do {
            channel = try await loop.connect(host: server.host, port: server.port, timeout: timeout) {
                SocketIOClient($0, to: server, auth: auth)
            }
        } catch {
            throw ClientError("no connection to \(server.name): \(error)")
        }
        guard let client = channel.handler as? SocketIOClient else {
            throw ClientError("the server closed the connection")
        }
        let timer = loop.schedule(after: timeout) {
            client.fail(ClientError("the server does not answer"))
        }
        defer { timer.cancel() }
        let outcome: Result<Void, ClientError> = await withCheckedContinuation { continuation in
            if let failure = client.failure { return continuation.resume(returning: .failure(failure)) }
            if client.isConnected { return continuation.resume(returning: .success(())) }
            client.opened = { continuation.resume(returning: $0) }
        }
        try outcome.get()
        return client
    }

    package func close() { channel.close() }

    /// Ends the socket at once without a close, like a phone that loses its network.
    package func drop() { fail(ClientError("dropped")) }

    // MARK: - Sending

    /// - Parameter completion: called once, with the ack's object, or with the failure.
    package func emit(
        _ event: String, _ payload: JSONValue, completion: @escaping (Result<JSONValue, ClientError>) -> Void
    ) {
        if let failure { return completion(.failure(failure)) }
        acks[nextAck] = completion
        send(Array("42\(nextAck)[\"\(event)\",".utf8) + payload.bytes + [UInt8(ascii: "]")])
        nextAck += 1
    }

    /// Emits an event, and waits for a successful ack.
    @discardableResult
    package func call(_ event: String, _ payload: JSONValue) async throws(ClientError) -> JSONValue {
        let outcome: Result<JSONValue, ClientError> = await withCheckedContinuation { continuation in
            emit(event, payload) { continuation.resume(returning: $0) }
        }
        let answer = try outcome.get()
        guard answer["success"]?.bool == true else { throw ClientError("\(event) was answered with \(answer)") }
        return answer
    }

    private func send(_ packet: [UInt8]) { frame(.text, packet) }

    private func frame(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        channel.write(WebSocketFrame.encode(opcode, payload, mask: .random(in: .min ... .max)))
    }

    // MARK: - Receiving

    package func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        do {
            if head == nil { parser.append(bytes) } else { try upgrade(bytes) }
            while failure == nil, head == nil, let event = try parser.next() { take(event) }
        } catch {
            fail(ClientError("the server broke the protocol: \(error)"))
        }
    }

    package func channelDidClose(_ channel: Channel, reason: CloseReason) {
        fail(ClientError("the socket ended: \(reason)"))
    }

    private func upgrade(_ bytes: UnsafeRawBufferPointer) throws {
        head?.append(bytes)
        guard let answer = try head?.next() else { return }
        try handshake.check(status: answer.status) { answer.values(of: $0.lowercased()) }
        parser.append(head?.rest ?? [])
        head = nil
    }

    private func take(_ event: WebSocketEvent) {
        switch event {
        case .text(let packet): take(packet: packet)
        case .ping(let payload): frame(.pong, payload)
        case .close(let code, let reason): fail(ClientError("the server closed the socket: \(code ?? 0) \(reason)"))
        case .binary, .pong: break
        }
    }

    private func take(packet: [UInt8]) {
        switch (packet.first, packet.dropFirst().first) {
        case (UInt8(ascii: "0"), _):
            send(Array("40".utf8) + auth.bytes)
        case (UInt8(ascii: "2"), _): send([UInt8(ascii: "3")])
        case (UInt8(ascii: "4"), UInt8(ascii: "0")):
            isConnected = true
            open(.success(()))
        case (UInt8(ascii: "4"), UInt8(ascii: "2")): takeEvent(packet)
        case (UInt8(ascii: "4"), UInt8(ascii: "3")): takeAck(packet)
        default: fail(ClientError("the server sent \(String(decoding: packet.prefix(200), as: UTF8.self))"))
        }
    }

    /// Parses `42["name",argument]`; the server's names need no escapes.
    private func takeEvent(_ packet: [UInt8]) {
        guard let nameEnd = packet[4...].firstIndex(of: UInt8(ascii: "\"")), nameEnd + 2 < packet.count
        else { return }
        let (name, argument) = (packet[4..<nameEnd], JSONValue(trusted: packet[(nameEnd + 2)..<(packet.count - 1)]))
        if let onEvent { onEvent(name, argument) } else { early.append((name, argument)) }
    }

    /// Parses `43ID[object]`.
    private func takeAck(_ packet: [UInt8]) {
        guard let bracket = packet.firstIndex(of: UInt8(ascii: "[")),
            let id = Int(String(decoding: packet[2..<bracket], as: UTF8.self)),
            let completion = acks.removeValue(forKey: id)
        else { return fail(ClientError("an unexpected ack")) }
        completion(.success(JSONValue(trusted: packet[(bracket + 1)..<(packet.count - 1)])))
    }

    private func open(_ outcome: Result<Void, ClientError>) {
        let opened = opened
        self.opened = nil
        opened?(outcome)
    }

    /// Ends the socket for good: pending and later requests fail.
    private func fail(_ error: ClientError) {
        guard failure == nil else { return }
        failure = error
        channel.abort()
        open(.failure(error))
        let waiting = acks.values
        acks = [:]
        for completion in waiting { completion(.failure(error)) }
        onEnd?(error)
    }
}

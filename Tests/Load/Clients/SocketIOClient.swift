import JSON
import Reactor
import Security
import WebSocket

/// One socket of a person: Socket.IO 5 over Engine.IO 4 over WebSocket, as far as Parlor needs it. On its loop only.
final class SocketIOClient: ChannelHandler {
    /// Told of each event: its name, and its one argument.
    var onEvent: ((ArraySlice<UInt8>, JSONValue) -> Void)?
    private(set) var failure: BenchError?

    private let channel: Channel
    private let token: String
    private let handshake: WebSocketClientHandshake
    private var head: HTTPAnswerReader? = HTTPAnswerReader()
    private var parser = WebSocketParser(role: .client)
    private var isConnected = false
    /// Called when the namespace is joined, or never will be.
    private var opened: ((Result<Void, BenchError>) -> Void)?
    private var nextAck = 0
    private var acks: [Int: (Result<JSONValue, BenchError>) -> Void] = [:]

    private init(_ channel: Channel, to server: ServerAddress, token: String) {
        self.channel = channel
        self.token = token
        handshake = WebSocketClientHandshake(nonce: SystemRandomness().bytes(16))
        channel.write(handshake.request(host: server.name, target: "/socket.io/?EIO=4&transport=websocket"))
    }

    /// Returns when the server has accepted the person. To be called on `loop`.
    static func connect(
        to server: ServerAddress, token: String, on loop: EventLoop
    ) async throws(BenchError) -> SocketIOClient {
        let channel: Channel
        do {
            channel = try await loop.connect(host: server.host, port: server.port) {
                SocketIOClient($0, to: server, token: token)
            }
        } catch {
            throw BenchError("no connection to \(server.name): \(error)")
        }
        guard let client = channel.handler as? SocketIOClient else {
            throw BenchError("the server closed the connection")
        }
        let outcome: Result<Void, BenchError> = await withCheckedContinuation { continuation in
            if client.isConnected { return continuation.resume(returning: .success(())) }
            client.opened = { continuation.resume(returning: $0) }
        }
        try outcome.get()
        return client
    }

    func close() { channel.close() }

    // MARK: - Sending

    /// - Parameter completion: called once, with the ack's object, or with why none comes.
    func emit(_ event: String, _ payload: JSONValue, completion: @escaping (Result<JSONValue, BenchError>) -> Void) {
        if let failure { return completion(.failure(failure)) }
        acks[nextAck] = completion
        send(Array("42\(nextAck)[\"\(event)\",".utf8) + payload.bytes + [UInt8(ascii: "]")])
        nextAck += 1
    }

    /// Emits, and waits for the ack of a success.
    @discardableResult
    func call(_ event: String, _ payload: JSONValue) async throws(BenchError) -> JSONValue {
        let outcome: Result<JSONValue, BenchError> = await withCheckedContinuation { continuation in
            emit(event, payload) { continuation.resume(returning: $0) }
        }
        let answer = try outcome.get()
        guard answer["success"]?.bool == true else { throw BenchError("\(event) was answered with \(answer)") }
        return answer
    }

    private func send(_ packet: [UInt8]) { frame(.text, packet) }

    private func frame(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        channel.write(WebSocketFrame.encode(opcode, payload, mask: .random(in: .min ... .max)))
    }

    // MARK: - Receiving

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        do {
            if head == nil { parser.append(bytes) } else { try upgrade(bytes) }
            while head == nil, let event = try parser.next() { take(event) }
        } catch {
            fail(BenchError("the server broke the protocol: \(error)"))
            channel.abort()
        }
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) { fail(BenchError("the socket ended: \(reason)")) }

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
        case .close(let code, let reason): fail(BenchError("the server closed the socket: \(code ?? 0) \(reason)"))
        case .binary, .pong: break
        }
    }

    private func take(packet: [UInt8]) {
        switch (packet.first, packet.dropFirst().first) {
        case (UInt8(ascii: "0"), _):
            send(Array("40".utf8) + JSONWriter.object { $0.member("token", token) }.bytes)
        case (UInt8(ascii: "2"), _): send([UInt8(ascii: "3")])
        case (UInt8(ascii: "4"), UInt8(ascii: "0")):
            isConnected = true
            open(.success(()))
        case (UInt8(ascii: "4"), UInt8(ascii: "2")): takeEvent(packet)
        case (UInt8(ascii: "4"), UInt8(ascii: "3")): takeAck(packet)
        default: fail(BenchError("the server sent \(String(decoding: packet.prefix(200), as: UTF8.self))"))
        }
    }

    /// `42["name",argument]`; the server's names need no escapes.
    private func takeEvent(_ packet: [UInt8]) {
        guard let onEvent, let nameEnd = packet[4...].firstIndex(of: UInt8(ascii: "\"")), nameEnd + 2 < packet.count
        else { return }
        onEvent(packet[4..<nameEnd], JSONValue(trusted: packet[(nameEnd + 2)..<(packet.count - 1)]))
    }

    /// `43ID[object]`
    private func takeAck(_ packet: [UInt8]) {
        guard let bracket = packet.firstIndex(of: UInt8(ascii: "[")),
            let id = Int(String(decoding: packet[2..<bracket], as: UTF8.self)),
            let completion = acks.removeValue(forKey: id)
        else { return fail(BenchError("an ack that nobody waits for")) }
        completion(.success(JSONValue(trusted: packet[(bracket + 1)..<(packet.count - 1)])))
    }

    private func open(_ outcome: Result<Void, BenchError>) {
        let opened = opened
        self.opened = nil
        opened?(outcome)
    }

    /// For good: whoever waits is told, and so is whoever asks later.
    private func fail(_ error: BenchError) {
        guard failure == nil else { return }
        failure = error
        open(.failure(error))
        let waiting = acks.values
        acks = [:]
        for completion in waiting { completion(.failure(error)) }
    }
}

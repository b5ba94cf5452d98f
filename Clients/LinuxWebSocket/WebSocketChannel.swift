import ParlorClient
import ParlorReactor
import ParlorSecurity
import ParlorWebSocket

/// The client's end of one WebSocket. It is used only on its event loop.
final class WebSocketChannel: ChannelHandler {
    typealias Completion = (Result<String, ClientFailure>) -> Void

    /// When this many messages wait for `receive`, nothing more is read, so that TCP slows the server down.
    /// Messages that were read together are all kept, so more may wait.
    private static let maxWaiting = 64
    /// The maximum of bytes that wait to be sent. Beyond it the connection fails.
    private static let maxUnsentBytes = 4 << 20
    private static let maxHeadBytes = 16 * 1024

    private let channel: Channel
    private let handshake: WebSocketClientHandshake
    /// The part of the response's head that has arrived; nil once the head is complete.
    private var head: [UInt8]? = []
    private var parser = WebSocketParser(role: .client, maxMessageBytes: 4 << 20)
    private var waiting: [String] = []
    private var receiver: Completion?
    private var opened: Completion?
    private var end: ClientFailure?

    /// - Parameter host: includes the port.
    init(_ channel: Channel, host: String, target: String) {
        self.channel = channel
        handshake = WebSocketClientHandshake(nonce: SystemRandomness().bytes(16))
        channel.write(handshake.request(host: host, target: target))
    }

    /// Calls back when the server has accepted the upgrade, or when the connection has failed.
    func whenOpened(_ completion: @escaping Completion) {
        if let end { return completion(.failure(end)) }
        if head == nil { completion(.success("")) } else { opened = completion }
    }

    func send(_ text: String, _ completion: Completion) {
        if end == nil, channel.unsentBytes > Self.maxUnsentBytes { fail("the server does not read") }
        if let end { return completion(.failure(end)) }
        frame(.text, Array(text.utf8))
        completion(.success(""))
    }

    /// Calls back with the next message.
    func receive(_ completion: @escaping Completion) {
        if !waiting.isEmpty {
            if waiting.count == Self.maxWaiting { channel.resumeReading() }
            return completion(.success(waiting.removeFirst()))
        }
        if let end { return completion(.failure(end)) }
        receiver = completion
    }

    private func frame(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        channel.write(WebSocketFrame.encode(opcode, payload, mask: .random(in: .min ... .max)))
    }

    // MARK: - Receiving

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        do {
            if head == nil { parser.append(bytes) } else { try readHead(bytes) }
            while end == nil, head == nil, let event = try parser.next() { take(event) }
        } catch {
            fail("\(error)")
        }
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) { finish("the connection has ended: \(reason)") }

    private func take(_ event: WebSocketEvent) {
        switch event {
        case .text(let bytes): deliver(String(decoding: bytes, as: UTF8.self))
        case .ping(let payload): frame(.pong, payload)
        case .pong: break
        case .binary: fail("the server sent a binary message")
        case .close(let code, _):
            channel.write(WebSocketFrame.close(code, mask: .random(in: .min ... .max)))
            channel.close()
            finish("the server closed the socket: \(code ?? 1005)")
        }
    }

    private func deliver(_ text: String) {
        if let receiver {
            self.receiver = nil
            return receiver(.success(text))
        }
        waiting.append(text)
        if waiting.count == Self.maxWaiting { channel.pauseReading() }
    }

    private func readHead(_ bytes: UnsafeRawBufferPointer) throws {
        var text = head ?? []
        text.append(contentsOf: bytes)
        let emptyLine = Array("\r\n\r\n".utf8)
        guard let end = text.firstRange(of: emptyLine) else {
            guard text.count <= Self.maxHeadBytes else { return fail("the answer's head is too long") }
            head = text
            return
        }
        let lines = String(decoding: text[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            return fail("the server does not speak HTTP/1.1")
        }
        let fields = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1) }
        try handshake.check(status: status) { name in
            fields.filter { $0.count == 2 && $0[0].lowercased() == name.lowercased() }.map {
                String($0[1].drop { $0 == " " })
            }
        }
        head = nil
        parser.append(text[end.upperBound...])
        opened?(.success(""))
        opened = nil
    }

    // MARK: - Ending

    private func fail(_ reason: String) {
        channel.abort()
        finish(reason)
    }

    /// Records the end and its reason; only the first one counts. Messages that arrived before can still be
    /// received.
    private func finish(_ reason: String) {
        guard end == nil else { return }
        let failure = ClientFailure.offline(reason)
        end = failure
        opened?(.failure(failure))
        opened = nil
        receiver?(.failure(failure))
        receiver = nil
    }
}

import Glibc
import ParlorReactor
import ParlorSecurity
import ParlorWebSocket
import TestClients

/// A socket that counts broadcasts, and reads only what identifies each message: the load has one
/// core, and over a million deliveries a second.
///
/// It speaks Socket.IO, or no protocol with `bench-floor`.
final class Listener: ChannelHandler {
    enum ProtocolKind {
        /// Socket.IO, as the person with this token, who hears of each message.
        case socketIO(token: String)
        /// Socket.IO, as a person who has joined this room, and gets each message.
        case joined(room: String, token: String)
        case nothing
    }

    private let channel: Channel
    private var protocolKind = ProtocolKind.nothing
    private var audience: FanOutAudience?
    /// Whether the answer to the upgrade has been read.
    private var isUpgraded = false
    /// The beginning of a frame, or of the upgrade's answer.
    private var rest: [UInt8] = []
    /// The number of messages received.
    private var received = 0

    private var event: [UInt8] = []

    private init(_ channel: Channel) { self.channel = channel }

    /// Connects; `FanOutAudience.opened` is called when it listens.
    static func connect(
        to server: ServerAddress, _ protocolKind: ProtocolKind, in audience: FanOutAudience, on loop: EventLoop
    ) async throws(ClientError) -> Listener {
        let channel: Channel
        do {
            channel = try await loop.connect(host: server.host, port: server.port) { Listener($0) }
        } catch {
            throw ClientError("no connection to \(server.name): \(error)")
        }
        guard let listener = channel.handler as? Listener else { throw ClientError("the server closed the connection") }
        listener.protocolKind = protocolKind
        listener.audience = audience
        listener.start(to: server)
        return listener
    }

    private func start(to server: ServerAddress) {
        switch protocolKind {
        case .nothing:
            isUpgraded = true
            audience?.opened()
            return
        case .socketIO: event = Array("42[\"message:new:global\"".utf8)
        case .joined: event = Array("42[\"message:new\"".utf8)
        }
        let handshake = WebSocketClientHandshake(nonce: SystemRandomness().bytes(16))
        channel.write(handshake.request(host: server.name, target: "/socket.io/?EIO=4&transport=websocket"))
    }

    func close() { channel.abort() }

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        guard rest.isEmpty else {
            rest.append(contentsOf: bytes)
            let taken = rest.withUnsafeBytes { take($0) }
            rest.removeFirst(taken)
            return
        }
        let taken = take(bytes)
        if taken < bytes.count { rest = Array(UnsafeRawBufferPointer(rebasing: bytes[taken...])) }
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        audience?.closed("a socket ended: \(reason)")
    }

    /// - Returns: how many bytes were complete frames.
    private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        var at = 0
        if !isUpgraded {
            guard let end = bytes.indices.dropLast(3).first(where: { Self.endsHead(bytes, at: $0) }) else { return 0 }
            guard bytes.starts(with: "HTTP/1.1 101".utf8) else {
                audience?.closed("the server refused a WebSocket")
                return bytes.count
            }
            isUpgraded = true
            at = end + 4
        }
        while let payload = Self.frame(in: bytes, at: at) {
            receive(UnsafeRawBufferPointer(rebasing: bytes[payload]))
            at = payload.upperBound
        }
        return at
    }

    private static func endsHead(_ bytes: UnsafeRawBufferPointer, at index: Int) -> Bool {
        bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10
    }

    /// Returns the payload of the frame at an offset, if it is complete.
    @inline(__always) private static func frame(in bytes: UnsafeRawBufferPointer, at start: Int) -> Range<Int>? {
        guard start + 2 <= bytes.count else { return nil }
        var length = Int(bytes[start + 1])
        var payload = start + 2
        if length == 126 {
            guard start + 4 <= bytes.count else { return nil }
            length = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
            payload = start + 4
        }
        return payload + length <= bytes.count ? payload..<(payload + length) : nil
    }

    private func receive(_ packet: UnsafeRawBufferPointer) {
        if let start = packet.baseAddress, packet.count > event.count, memcmp(start, event, event.count) == 0 {
            audience?.received(packet, number: received)
            received += 1
            return
        }
        switch (packet.first, packet.dropFirst().first) {
        case (UInt8(ascii: "0"), _):
            switch protocolKind {
            case .socketIO(let token), .joined(_, let token): send("40{\"token\":\"\(token)\"}")
            case .nothing: break
            }
        case (UInt8(ascii: "4"), UInt8(ascii: "0")):
            guard case .joined(let room, _) = protocolKind else {
                audience?.opened()
                return
            }
            send("420[\"room:join\",{\"roomId\":\"\(room)\"}]")
        case (UInt8(ascii: "4"), UInt8(ascii: "3")): audience?.opened()
        case (UInt8(ascii: "2"), _): send("3")
        default: break
        }
    }

    private func send(_ packet: String) {
        channel.write(WebSocketFrame.encode(.text, Array(packet.utf8), mask: .random(in: .min ... .max)))
    }
}

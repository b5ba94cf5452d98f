import Glibc
import ParlorTestSupport
import TestClients

/// One connection to a broker, on plain system calls: each write is one call. The load does not use
/// `Reactor`, whose event loops Parlor's broker runs on.
final class BusLink {
    let encoder: BusEncoder
    private let socket: BlockingSocket
    private var buffer = [UInt8](repeating: 0, count: 1 << 20)
    /// The bytes in the buffer that arrived and are not taken yet.
    private var filled = 0

    /// Sends hello, and then a text; returns when the broker has read both.
    ///
    /// - Throws: `WireError`, as all methods here.
    init(to broker: ServerAddress, _ encoder: BusEncoder, sending text: String = "") throws {
        self.encoder = encoder
        socket = try BlockingSocket(port: broker.port)
        try socket.send(encoder.hello + text + encoder.ping)
        _ = try next(.pong)
    }

    func close() { socket.disconnect() }

    func send(_ text: String) throws { try socket.send(text) }

    /// Writes the bytes from an offset on, as many as the kernel takes now.
    ///
    /// - Returns: how many it took.
    func write(_ bytes: [UInt8], from offset: Int) throws -> Int {
        let count = bytes.withUnsafeBytes {
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
            return Glibc.send(socket.descriptor, $0.baseAddress.map { $0 + offset }, $0.count - offset, flags)
        }
        guard count >= 0 || errno == EAGAIN || errno == EINTR else { throw WireError.failed("send", errno) }
        return max(count, 0)
    }

    /// Reads the available bytes; if there are none, it waits if asked to.
    func receive(waiting: Bool) throws {
        let count = buffer.withUnsafeMutableBytes { bytes in
            recv(
                socket.descriptor, bytes.baseAddress.map { $0 + filled }, bytes.count - filled,
                waiting ? 0 : Int32(MSG_DONTWAIT))
        }
        guard count >= 0 else {
            if errno == EINTR || errno == EAGAIN && !waiting { return }
            throw WireError.failed("recv", errno)
        }
        guard count > 0 else { throw WireError.unexpected("the broker closed the connection") }
        filled += count
    }

    /// Passes on the received bytes.
    ///
    /// - Parameter body: returns how many of them it used; the rest is passed again.
    func take(_ body: (UnsafeRawBufferPointer) throws -> Int) rethrows {
        let taken = try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<filled])) }
        guard taken > 0 else { return }
        buffer.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            memmove(start, start + taken, filled - taken)
        }
        filled -= taken
    }

    /// Waits for the next message of a kind. Pings on the way are answered, and greetings skipped.
    func next(_ wanted: BusEncoder.Kind) throws -> String {
        while true {
            var first: (kind: BusEncoder.Kind, text: String)?
            take { bytes in
                guard let (kind, length) = encoder.first(in: bytes) else { return 0 }
                first = (kind, String(decoding: bytes[..<length], as: UTF8.self))
                return length
            }
            guard let (kind, text) = first else {
                try receive(waiting: true)
                continue
            }
            if kind == wanted { return text }
            if kind == .failure { throw WireError.unexpected(text) }
            if kind == .ping { try send(encoder.pong) }
        }
    }
}

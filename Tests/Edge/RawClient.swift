import Glibc
import Testing

/// A client on a plain blocking socket: nothing of what is tested is in it. It gives up after ten seconds.
final class RawClient {
    struct Response {
        let status: Int
        let head: String
        let body: String

        func header(_ name: String) -> String? {
            for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix(name.lowercased() + ": ") {
                return String(line.dropFirst(name.utf8.count + 2))
            }
            return nil
        }
    }

    /// Nobody listens.
    struct Refused: Error {}

    private let descriptor: Int32
    private var received: [UInt8] = []

    /// - Parameter receiveBuffer: a small one makes a client that takes little before it reads.
    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafeBytes(of: address) {
            connect(
                descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        if result != 0 { throw Refused() }
    }

    deinit { close(descriptor) }

    // MARK: Bytes

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            try #require(count > 0, "send: \(errno)")
            sent += count
        }
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// False at the end of the connection, in order or by a reset.
    private func fill() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        try #require(count >= 0 || errno == ECONNRESET, "recv: \(errno)")
        received += buffer.prefix(max(count, 0))
        return count > 0
    }

    private func take(_ count: Int) throws -> [UInt8]? {
        while received.count < count { if try !fill() { return nil } }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    func isClosed() throws -> Bool { try received.isEmpty && !fill() }

    // MARK: HTTP

    func request(
        _ method: String, _ target: String, headers: [String] = [], body: String = ""
    ) throws -> Response {
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        let head = ["\(method) \(target) HTTP/1.1", "Host: x"] + headers + length
        try send(head.joined(separator: "\r\n") + "\r\n\r\n" + body)
        return try response(to: method)
    }

    func response(to method: String = "GET") throws -> Response {
        let found = try readHead()
        let head = try #require(found)
        let status = try #require(Int(head.dropFirst(9).prefix(3)))
        let bare = Response(status: status, head: head, body: "")
        let length =
            method == "HEAD" || status < 200 || status == 204 ? 0 : bare.header("Content-Length").flatMap(Int.init)
        let bytes = try #require(length)
        let taken = try take(bytes)
        let body = try #require(taken)
        return Response(status: status, head: head, body: String(decoding: body, as: UTF8.self))
    }

    private func readHead() throws -> String? {
        while true {
            let text = String(decoding: received, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let head = String(text[..<end.lowerBound])
                received.removeFirst(head.utf8.count + 4)
                return head
            }
            if try !fill() { return nil }
        }
    }

    // MARK: WebSocket

    func openWebSocket(_ target: String, headers: [String] = []) throws -> Response {
        try request(
            "GET", target,
            headers: [
                "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ] + headers)
    }

    /// A text frame, masked with zeros; or another one. Short ones only.
    func sendFrame(_ text: String, opcode: UInt8 = 1) throws {
        let payload = Array(text.utf8)
        try #require(payload.count < 126)
        try send([0x80 | opcode, 0x80 | UInt8(payload.count), 0, 0, 0, 0] + payload)
    }

    /// The next frame's payload; a close frame as `close CODE`; nil at the end.
    func receiveFrame() throws -> String? {
        guard let start = try take(2) else { return nil }
        var length = Int(start[1])
        if length >= 126 {
            guard let bytes = try take(length == 126 ? 2 : 8) else { return nil }
            length = bytes.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let payload = try take(length) else { return nil }
        if start[0] & 0xF == 8 { return "close \(payload.prefix(2).reduce(0) { $0 << 8 | Int($1) })" }
        return String(decoding: payload, as: UTF8.self)
    }
}

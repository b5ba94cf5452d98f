import Glibc
import JSON
import Synchronization
import Testing
import Workers

/// A client on a plain blocking socket: nothing of what is tested is in it. It waits on threads of its own, so that tests
/// that wait leave the processors to what they test, and gives up after ten seconds.
final class WireClient: Sendable {
    struct Response: Sendable {
        let status: Int
        let head: String
        let body: String

        func header(_ name: String) -> String? {
            for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix(name.lowercased() + ": ") {
                return String(line.dropFirst(name.utf8.count + 2))
            }
            return nil
        }

        var json: JSONValue { get throws { try JSONValue(parsing: body) } }
        var errorCode: String? { get throws { try json["error"]?["code"]?.string } }
    }

    /// What a Socket.IO server sends.
    enum Packet: Sendable, Equatable {
        case event(String, JSONValue)
        case ack(Int, JSONValue)
        case other(String)
    }

    private let connection: Mutex<WireConnection>
    private let workers: WorkerPool

    init(port: UInt16, _ workers: WorkerPool) throws {
        connection = Mutex(try WireConnection(port: port))
        self.workers = workers
    }

    private func run<T: Sendable>(_ body: @escaping @Sendable (inout WireConnection) throws -> T) async throws -> T {
        try await workers.run { try self.connection.withLock { try body(&$0) } }
    }

    func request(
        _ method: String, _ target: String, headers: [String] = [], body: String = ""
    ) async throws -> Response {
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        let head = ["\(method) \(target) HTTP/1.1", "Host: x"] + headers + length
        return try await run { connection in
            try connection.send(Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8))
            return try connection.response(to: method)
        }
    }

    func openWebSocket(_ target: String) async throws {
        let response = try await request(
            "GET", target,
            headers: [
                "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ])
        try #require(response.status == 101)
    }

    func send(_ text: String) async throws { try await run { try $0.sendFrame(text) } }

    /// The next frame's payload, or `closed`.
    func receive() async throws -> String { try await run { try $0.receiveFrame() ?? "closed" } }

    func emit(_ event: String, _ payload: String, ack: Int? = nil) async throws {
        try await send("42\(ack.map(String.init) ?? "")[\"\(event)\",\(payload)]")
    }

    func next() async throws -> Packet {
        let text = try await receive()
        guard text.hasPrefix("42") || text.hasPrefix("43") else { return .other(text) }
        let digits = text.dropFirst(2).prefix { $0.isNumber }
        guard let arguments = try JSONValue(parsing: String(text.dropFirst(2 + digits.count))).array else {
            return .other(text)
        }
        if let id = Int(digits) { return .ack(id, arguments[0]) }
        return .event(arguments[0].string ?? "", arguments[1])
    }

    /// The answer to an event that is sent now. What else comes first fails the test.
    func ask(_ event: String, _ payload: String) async throws -> JSONValue {
        try await emit(event, payload, ack: 77)
        let packet = try await next()
        guard case .ack(77, let answer) = packet else {
            Issue.record("\(packet) is no answer")
            return .null
        }
        return answer
    }
}

/// The bytes of one connection.
struct WireConnection: ~Copyable {
    /// Nobody listens.
    struct Refused: Error {}

    private let descriptor: Int32
    private var received: [UInt8] = []

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
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

    /// False at the end of the connection, in order or by a reset.
    private mutating func fill() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        try #require(count >= 0 || errno == ECONNRESET, "recv: \(errno)")
        received += buffer.prefix(max(count, 0))
        return count > 0
    }

    private mutating func take(_ count: Int) throws -> [UInt8]? {
        while received.count < count { if try !fill() { return nil } }
        let taken = Array(received.prefix(count))
        received.removeFirst(count)
        return taken
    }

    mutating func response(to method: String) throws -> WireClient.Response {
        let head = try readHead()
        let status = try #require(Int(head.dropFirst(9).prefix(3)))
        let bare = WireClient.Response(status: status, head: head, body: "")
        let isEmpty = method == "HEAD" || status < 200 || status == 204
        let length = try #require(isEmpty ? 0 : bare.header("Content-Length").flatMap(Int.init))
        let body = try #require(try take(length))
        return WireClient.Response(status: status, head: head, body: String(decoding: body, as: UTF8.self))
    }

    private mutating func readHead() throws -> String {
        while true {
            let text = String(decoding: received, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let head = String(text[..<end.lowerBound])
                received.removeFirst(head.utf8.count + 4)
                return head
            }
            if try !fill() { throw Refused() }
        }
    }

    /// A text frame, masked with zeros.
    func sendFrame(_ text: String) throws {
        let payload = Array(text.utf8)
        try #require(payload.count < 65_536)
        let length: [UInt8] =
            payload.count < 126
            ? [0x80 | UInt8(payload.count)] : [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        try send([0x81] + length + [0, 0, 0, 0] + payload)
    }

    /// The next frame's payload; nil for a close frame and at the end.
    mutating func receiveFrame() throws -> String? {
        guard let start = try take(2) else { return nil }
        var length = Int(start[1])
        if length >= 126 {
            guard let bytes = try take(length == 126 ? 2 : 8) else { return nil }
            length = bytes.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let payload = try take(length), start[0] & 0xF != 8 else { return nil }
        return String(decoding: payload, as: UTF8.self)
    }
}

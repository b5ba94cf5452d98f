import JSON
import Synchronization
import TestSupport
import Testing
import Workers

/// A `RawClient` that waits on threads of its own, so that tests that wait leave the processors to what they test.
final class WireClient: Sendable {
    /// What a Socket.IO server sends.
    enum Packet: Sendable, Equatable {
        case event(String, JSONValue)
        case ack(Int, JSONValue)
        case other(String)
    }

    private let connection: Mutex<RawClient>
    private let workers: WorkerPool

    init(port: UInt16, _ workers: WorkerPool) throws {
        connection = Mutex(try RawClient(port: port))
        self.workers = workers
    }

    private func run<T: Sendable>(_ body: @escaping @Sendable (RawClient) throws -> T) async throws -> T {
        try await workers.run { try self.connection.withLock { try body($0) } }
    }

    func request(
        _ method: String, _ target: String, headers: [String] = [], body: String = ""
    ) async throws -> RawResponse {
        try await run { try $0.request(method, target, headers: headers, body: body) }
    }

    func openWebSocket(_ target: String) async throws {
        try #require(try await run { try $0.openWebSocket(target).status } == 101)
    }

    func send(_ text: String) async throws { try await run { try $0.sendFrame(text) } }

    /// The next frame's payload, or `closed`.
    func receive() async throws -> String {
        let frame = try await run { try $0.receiveFrame() } ?? "close"
        return frame.hasPrefix("close") ? "closed" : frame
    }

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

extension RawResponse {
    var json: JSONValue { get throws { try JSONValue(parsing: body) } }
    var errorCode: String? { get throws { try json["error"]?["code"]?.string } }
}

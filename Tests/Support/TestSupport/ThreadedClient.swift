import ParlorWorkers
import Synchronization

/// A `RawClient` that waits on threads of its own, so that waiting tests leave the processors to
/// the tested code.
public final class ThreadedClient: TextConnection {
    private let client: Mutex<RawClient>
    private let workers: WorkerPool

    public init(port: UInt16, _ workers: WorkerPool) throws {
        client = Mutex(try RawClient(port: port))
        self.workers = workers
    }

    private func run<T: Sendable>(_ body: @escaping @Sendable (RawClient) throws -> T) async throws -> T {
        try await workers.run { try self.client.withLock { try body($0) } }
    }

    public func request(
        _ method: String, _ target: String, headers: [String] = [], body: String = ""
    ) async throws -> RawResponse {
        try await run { try $0.request(method, target, headers: headers, body: body) }
    }

    /// Returns a Socket.IO client over this connection, after the Engine.IO handshake.
    public func openSocketIO(query: String = "", headers: [String] = []) async throws -> SocketIOTestClient {
        let response = try await run {
            try $0.openWebSocket("/socket.io/?EIO=4&transport=websocket" + query, headers: headers)
        }
        guard response.status == 101 else { throw WireError.unexpected(response.head) }
        let client = SocketIOTestClient(self)
        try await client.open()
        return client
    }

    // MARK: WebSocket

    public func send(_ text: String) async throws { try await run { try $0.sendFrame(text) } }

    /// Returns the next frame's payload, or `closed`.
    public func receive() async throws -> String {
        let frame = try await run { try $0.receiveFrame() } ?? "close"
        return frame.hasPrefix("close") ? "closed" : frame
    }
}

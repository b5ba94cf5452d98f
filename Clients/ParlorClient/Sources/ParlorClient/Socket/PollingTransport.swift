import Foundation

/// Opens Engine.IO connections over HTTP long-polling: one waiting GET, and one POST at a time.
package struct PollingTransport: SocketTransport {
    private let http: any HTTPTransport

    package init(http: any HTTPTransport) { self.http = http }

    package var isPolling: Bool { true }

    /// Opens a session.
    ///
    /// - Parameter url: not used: requests go to the server of the ``HTTPTransport``.
    /// - Throws: `ClientFailure.offline`; `ClientFailure.unreadable` if the answer is not a packet;
    ///   `CancellationError`.
    package func connect(to url: URL) async throws -> any SocketConnection {
        let connection = PollingConnection(http: http)
        try await connection.open()
        return connection
    }
}

/// One polling session, which delivers packets in order.
private final class PollingConnection: SocketConnection {
    private static let separator: Character = "\u{1e}"

    private struct State: Sendable {
        var sessionID: String?
        /// The time limit of a poll, from the handshake. The server may send nothing for that long.
        var longestSilence: Duration?
        var arrived: [String] = []
        var isOver = false
        var requests = 0
    }

    private let http: any HTTPTransport
    private let state = Guarded(State())

    init(http: any HTTPTransport) { self.http = http }

    func open() async throws {
        let packets = try await poll()
        guard let first = packets.first, case .open(let handshake) = try EnginePacket(first) else {
            throw ClientFailure.offline("no handshake")
        }
        state.withLock { state in
            state.sessionID = handshake.sid
            state.longestSilence = handshake.longestSilence
            state.arrived = packets
        }
    }

    func send(_ text: String) async throws { _ = try await request("POST", body: Data(text.utf8)) }

    func receive() async throws -> String {
        while true {
            if let text = state.withLock({ $0.arrived.isEmpty ? nil : $0.arrived.removeFirst() }) { return text }
            let packets = try await poll()
            state.withLock { $0.arrived += packets }
        }
    }

    func close() {
        let wasOpen = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver && state.sessionID != nil
        }
        guard wasOpen else { return }
        // Without a close packet, the server would keep the session until it times out.
        let request = makeRequest("POST", body: Data("1".utf8))
        Task { [http] in _ = try? await http.send(request) }
    }

    private func poll() async throws -> [String] {
        let body = try await request("GET", body: nil)
        let packets = String(decoding: body, as: UTF8.self).split(separator: Self.separator).map(String.init)
        // Parlor answers a poll only when it has a packet. An empty answer comes from something else, and polling
        // again would loop without a pause.
        guard !packets.isEmpty else { throw ClientFailure.offline("the answer to a poll was empty") }
        return packets
    }

    private func makeRequest(_ method: String, body: Data?) -> HTTPRequest {
        let (sessionID, longestSilence, number) = state.withLock { state in
            state.requests += 1
            return (state.sessionID, state.longestSilence, state.requests)
        }
        var query = [
            URLQueryItem(name: "EIO", value: "4"), URLQueryItem(name: "transport", value: "polling"),
            // The value differs each time, so that no cache on the way answers.
            URLQueryItem(name: "t", value: String(number, radix: 36)),
        ]
        if let sessionID { query.append(URLQueryItem(name: "sid", value: sessionID)) }
        var request = HTTPRequest(method, "/socket.io/", query: query, body: body)
        if body != nil {
            request.headers["Content-Type"] = "text/plain;charset=UTF-8"
        } else {
            request.timeout = longestSilence
        }
        return request
    }

    private func request(_ method: String, body: Data?) async throws -> Data {
        guard !state.withLock({ $0.isOver }) else { throw ClientFailure.offline("the connection was closed") }
        let response = try await ClientFailure.translating { try await http.send(makeRequest(method, body: body)) }
        guard response.status == 200, !state.withLock({ $0.isOver }) else {
            throw ClientFailure.offline("the connection has ended (\(response.status))")
        }
        return response.body
    }
}

import ParlorJSON

/// A connection that carries texts in both directions, in order: a WebSocket, or a test's
/// substitute.
public protocol TextConnection: Sendable {
    func send(_ text: String) async throws
    /// Returns the next text.
    func receive() async throws -> String
}

/// A Socket.IO client for tests, over any connection. It checks little, and hides nothing.
public struct SocketIOTestClient: Sendable {
    /// A packet from a Socket.IO server.
    public enum Packet: Sendable, Equatable {
        case event(String, JSONValue)
        case ack(Int, JSONValue)
        case other(String)
    }

    private let connection: any TextConnection

    /// - Parameter connection: a connection on which nothing was received yet.
    public init(_ connection: any TextConnection) { self.connection = connection }

    /// Reads the Engine.IO handshake.
    public func open() async throws {
        let handshake = try await receive()
        guard handshake.hasPrefix("0{") else { throw WireError.unexpected(handshake) }
    }

    /// Joins the main namespace.
    ///
    /// - Parameter cursor: the position to catch up from.
    public func connect(token: String, since cursor: String? = nil) async throws {
        let auth = JSONWriter.object {
            $0.member("token", token)
            if let cursor { $0.member("since", cursor) }
        }
        try await send("40\(auth.text)")
        let answer = try await receive()
        guard answer.hasPrefix("40{") else { throw WireError.unexpected(answer) }
    }

    public func send(_ text: String) async throws { try await connection.send(text) }

    /// Returns the next text; `closed` at the end of a WebSocket.
    public func receive() async throws -> String { try await connection.receive() }

    /// - Parameter payload: JSON.
    public func emit(_ event: String, _ payload: String, ack: Int? = nil) async throws {
        try await send("42\(ack.map(String.init) ?? "")[\"\(event)\",\(payload)]")
    }

    /// Returns the next packet. It answers Engine.IO's pings, which come between if a test takes long.
    public func next() async throws -> Packet {
        var text = try await receive()
        while text == "2" {
            try await send("3")
            text = try await receive()
        }
        guard text.hasPrefix("42") || text.hasPrefix("43") else { return .other(text) }
        let digits = text.dropFirst(2).prefix { $0.isNumber }
        guard let arguments = try JSONValue(parsing: String(text.dropFirst(2 + digits.count))).array else {
            return .other(text)
        }
        if let id = Int(digits) { return .ack(id, arguments[0]) }
        return .event(arguments[0].string ?? "", arguments[1])
    }

    /// Returns the answer to an event, and drops what comes before it.
    public func ack(_ id: Int) async throws -> JSONValue {
        while true {
            if case .ack(id, let answer) = try await next() { return answer }
        }
    }

    /// Sends an event, and returns its answer.
    ///
    /// - Throws: `WireError.unexpected` if anything else arrives first.
    public func ask(_ event: String, _ payload: String) async throws -> JSONValue {
        try await emit(event, payload, ack: 77)
        let packet = try await next()
        guard case .ack(77, let answer) = packet else { throw WireError.unexpected("\(packet) is no answer") }
        return answer
    }
}

/// The values that a client receives in the handshake, and the time limit of an upgrade.
public struct EngineConfiguration: Sendable {
    public var pingInterval: Duration
    public var pingTimeout: Duration
    /// The limit of bytes in one message or one POST of a client.
    public var maxPayload: Int
    /// The time limit of an upgrade, from the moment when its WebSocket is attached. If it passes, the session
    /// continues by polling.
    public var upgradeTimeout: Duration

    /// Creates a configuration, with the reference server's defaults.
    public init(
        pingInterval: Duration = .seconds(25), pingTimeout: Duration = .seconds(20), maxPayload: Int = 1_000_000,
        upgradeTimeout: Duration = .seconds(10)
    ) {
        self.pingInterval = pingInterval
        self.pingTimeout = pingTimeout
        self.maxPayload = maxPayload
        self.upgradeTimeout = upgradeTimeout
    }
}

/// The actions to take, in this order, after an event of an `EngineSession`.
public enum EngineAction: Sendable, Equatable {
    // Actions on the request or WebSocket that was the input:

    /// Answer it with 200 and this body.
    case answer([UInt8])
    /// Keep the GET until `answerHeldPoll`.
    case hold
    /// Answer a request with 400 (`EngineError.badRequest`), or close a WebSocket.
    case refuse

    // Actions on the held GET:

    /// Answer it with 200 and this body.
    case answerHeldPoll([UInt8])

    // Actions on the WebSockets:

    /// Write the packet to the WebSocket that is this session's transport.
    case write(OutgoingPacket)
    /// Write the packet to the WebSocket that is to become the transport.
    case writeToProbe(OutgoingPacket)
    /// Make the probing WebSocket the transport.
    case promoteProbe
    case closeProbe

    /// Start the timer, or restart it if it was running.
    ///
    /// When the heartbeat's timer fires and is restarted, the delay counts from the time at which it was due, so that
    /// lateness does not add up. If it fired very late, the delay counts from now, so that the client has its whole
    /// time.
    case startTimer(EngineTimer, Duration)
    case stopTimer(EngineTimer)

    case deliver(EnginePacket)

    // Actions for the application:

    /// Note that a ping was sent, after everything that was sent before.
    case notePing
    /// Note that the client has answered the ping.
    case noteAnsweredPing

    /// The last action of a session: close its WebSocket if it has one, stop its timers, forget it.
    case close(EngineCloseReason)
}

/// The timers of an Engine.IO session.
public enum EngineTimer: Sendable, Hashable, CaseIterable {
    /// The next ping is due, or the pong for the last one is overdue.
    case heartbeat
    /// The upgrade takes too long.
    case upgrade
    /// The client does not fetch the last packets.
    case closing
}

/// The reason why an Engine.IO session ended.
public enum EngineCloseReason: Sendable, Equatable {
    case pingTimeout
    /// The connection of the transport ended.
    case transportClosed
    /// The client closed it.
    case closedByClient
    case closedByServer
    /// A second GET arrived while one was held.
    case overlappingPolls
    case violation(ProtocolViolation)
}

/// A refused request: status 400, or 403 for `forbidden`, with this as JSON. Codes and messages are the reference
/// server's.
public enum EngineError: Int, Error, Sendable {
    case unknownTransport = 0
    case unknownSession, badHandshakeMethod, badRequest, forbidden, unsupportedVersion

    public var message: String {
        switch self {
        case .unknownTransport: "Transport unknown"
        case .unknownSession: "Session ID unknown"
        case .badHandshakeMethod: "Bad handshake method"
        case .badRequest: "Bad request"
        case .forbidden: "Forbidden"
        case .unsupportedVersion: "Unsupported protocol version"
        }
    }

    public var json: [UInt8] { Array(#"{"code":\#(rawValue),"message":"\#(message)"}"#.utf8) }
}

/// A packet that no client of this protocol may send. Its session is closed.
public struct ProtocolViolation: Error, Equatable, CustomStringConvertible {
    /// A description for a log. It never contains received data.
    public let reason: StaticString

    init(_ reason: StaticString) { self.reason = reason }

    public var description: String { "\(reason)" }

    public static func == (left: ProtocolViolation, right: ProtocolViolation) -> Bool {
        left.description == right.description
    }
}

extension Duration {
    /// The duration in whole milliseconds, as the handshake writes it.
    var milliseconds: Int { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}

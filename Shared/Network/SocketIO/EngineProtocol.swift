/// The values that a client gets in the handshake, and the time for an upgrade.
public struct EngineConfiguration: Sendable {
    public var pingInterval: Duration
    public var pingTimeout: Duration
    /// The most bytes a client may put into one message or one POST.
    public var maxPayload: Int
    /// From a WebSocket's attaching to the upgrade's end. After it the session goes on by polling.
    public var upgradeTimeout: Duration

    /// The reference server's defaults.
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
    // The request or WebSocket that was the input:

    /// Answer it with 200 and this body.
    case answer([UInt8])
    /// Keep the GET until `answerHeldPoll`.
    case hold
    /// Answer it with 400 (`EngineError.badRequest`).
    case refuse

    // The GET that is held:

    /// Answer it with 200 and this body.
    case answerHeldPoll([UInt8])

    // The WebSockets:

    /// On the one that is this session's transport.
    case write(OutgoingPacket)
    /// On the one that wants to become it.
    case writeToProbe(OutgoingPacket)
    /// The probing WebSocket is the transport from here on.
    case promoteProbe
    case closeProbe

    /// Restarts if it was running. Timers are exact: a heartbeat after a heartbeat's timer counts
    /// from the time when that was due.
    case startTimer(EngineTimer, Duration)
    case stopTimer(EngineTimer)

    case deliver(EnginePacket)

    // What the application may want to know:

    /// A ping went out, after all that was sent before.
    case notePing
    /// The client has answered it.
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
    /// Nobody fetches the last packets.
    case closing
}

/// The reason why an Engine.IO session ended.
public enum EngineCloseReason: Sendable, Equatable {
    case pingTimeout
    /// The connection that carried it ended.
    case transportClosed
    /// The client closed it.
    case closedByClient
    case closedByServer
    /// A second GET came while one was held.
    case overlappingPolls
    case violation(ProtocolViolation)
}

/// A refused request: status 400, or 403 for `forbidden`, with this as JSON. Codes and messages are the reference server's.
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
    /// For a log: never holds what was sent.
    public let reason: StaticString

    init(_ reason: StaticString) { self.reason = reason }

    public var description: String { "\(reason)" }

    public static func == (left: ProtocolViolation, right: ProtocolViolation) -> Bool {
        left.description == right.description
    }
}

extension Duration {
    /// Whole milliseconds, as the handshake writes them.
    var milliseconds: Int { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}

/// What to do, in this order, after something happened to an `EngineSession`.
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

    /// Starts anew if it was running. Timers are exact: a heartbeat that follows upon a heartbeat's timer counts from
    /// when that was due.
    case startTimer(EngineTimer, Duration)
    case stopTimer(EngineTimer)

    case deliver(EnginePacket)

    /// The last action of a session: close its WebSocket if it has one, stop its timers, forget it.
    case close(EngineCloseReason)
}

public enum EngineTimer: Sendable, Hashable, CaseIterable {
    /// The next ping is due, or the pong for the last one is overdue.
    case heartbeat
    /// The upgrade takes too long.
    case upgrade
    /// Nobody fetches the last packets.
    case farewell
}

public enum EngineCloseReason: Sendable, Equatable {
    case pingTimeout
    /// The connection that carried it ended.
    case transportClosed
    /// The client said so.
    case closedByClient
    case closedByServer
    /// A second GET came while one was held.
    case overlappingPolls
    case violation(ProtocolViolation)
}

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

    // What the application may want to know:

    /// A ping went out, after all that was sent before.
    case notePing
    /// The client has answered it.
    case noteAnsweredPing

    /// The last action of a session: close its WebSocket if it has one, stop its timers, forget it.
    case close(EngineCloseReason)
}

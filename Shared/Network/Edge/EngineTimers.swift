import ParlorReactor
import ParlorSocketIO

/// The timers of one session. They refer to it `unowned`, so all are cancelled before it is released.
struct EngineTimers {
    /// The lateness up to which a timer counts as punctual. A timer fires within a millisecond of its time,
    /// unless its loop is busy.
    private static let usualLateness: Duration = .milliseconds(20)
    private static let never = LoopInstant(nanoseconds: .max)

    private var heartbeat: LoopTimer?
    private var heartbeatDue = Self.never
    /// The timers that few sessions have.
    private var others: [EngineTimer: LoopTimer] = [:]

    /// True if the heartbeat's deadline has passed, even if its timer has not fired yet.
    var isHeartbeatDue: Bool { heartbeatDue <= .now() }

    mutating func start(_ timer: EngineTimer, after delay: Duration, for session: EngineConnection) {
        if timer == .heartbeat { return startHeartbeat(after: delay, for: session) }
        stop(timer)
        others[timer] = session.edge.loop.schedule(after: delay) { [unowned session] in session.fired(timer) }
    }

    /// Starts the heartbeat's deadline. A pong's deadline counts from when the ping was due, so that lateness does not
    /// add up. If the timer fired later than `usualLateness`, the deadline counts from now, so that the client has its
    /// whole time.
    private mutating func startHeartbeat(after delay: Duration, for session: EngineConnection) {
        let now = LoopInstant.now()
        let isLate = heartbeatDue <= now && now - heartbeatDue < Self.usualLateness
        heartbeatDue = (isLate ? heartbeatDue : now) + delay
        if let heartbeat {
            heartbeat.rearm(after: heartbeatDue - now)
        } else {
            heartbeat = session.edge.loop.schedule(after: delay) { [unowned session] in session.settleHeartbeat() }
        }
    }

    mutating func stop(_ timer: EngineTimer) { others.removeValue(forKey: timer)?.cancel() }

    mutating func cancelAll() {
        for timer in others.values { timer.cancel() }
        heartbeat?.cancel()
        self = EngineTimers()
    }
}

/// What an Engine.IO session waits for with a limit.
public enum EngineTimer: Sendable, Hashable, CaseIterable {
    /// The next ping is due, or the pong for the last one is overdue.
    case heartbeat
    /// The upgrade takes too long.
    case upgrade
    /// Nobody fetches the last packets.
    case farewell
}

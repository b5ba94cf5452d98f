import ParlorContracts
import ParlorReactor

/// The last activity of a client, and the events that it is known to have received.
///
/// Transports keep the order of messages: a client that answers a ping has received everything sent before
/// the ping.
package struct ClientLiveness {
    /// The time at which the client last answered a ping, connected or sent an event.
    private(set) var lastActiveAt: LoopInstant
    /// The position of each log's fan-out when the latest unanswered ping was sent.
    private var pinged: [LogID: Int]?
    private var confirmed: [LogID: Int] = [:]

    init(at now: LoopInstant) { lastActiveAt = now }

    /// Returns the position up to which the client certainly has the log's events; 0 if none is certain.
    func confirmed(of logID: LogID) -> Int { confirmed[logID] ?? 0 }

    package mutating func noteEvent(at now: LoopInstant) { lastActiveAt = now }

    mutating func notePing(after reached: [LogID: Int]) { pinged = reached }

    package mutating func noteAnswer(at now: LoopInstant) {
        lastActiveAt = now
        if let pinged { confirmed = pinged }
        pinged = nil
    }

    /// Notes that a log has ended: if it starts again, its positions may be those of another log.
    mutating func noteEnd(of logID: LogID) {
        pinged?[logID] = nil
        confirmed[logID] = nil
    }

    /// Notes that the client has joined a room: earlier pings prove nothing about that room's events.
    package mutating func noteJoin() {
        pinged = nil
        confirmed = [:]
    }
}

import ParlorContracts
import ParlorReactor

/// The last activity of a client, and the events that it is known to have received.
///
/// Transports keep the order of messages: a client that answers a ping has received everything sent before
/// the ping.
package struct ClientLiveness {
    /// The time at which the client last answered a ping, connected or sent an event.
    private(set) var lastActiveAt: LoopInstant
    /// The position of each stream's fan-out when the latest unanswered ping was sent.
    private var pinged: [String: Int]?
    private var confirmed: [String: Int] = [:]

    init(at now: LoopInstant) { lastActiveAt = now }

    /// Returns the position up to which the client certainly has what the stream sent to it; 0 if none is certain.
    func confirmed(of stream: String) -> Int { confirmed[stream] ?? 0 }

    package mutating func noteEvent(at now: LoopInstant) { lastActiveAt = now }

    mutating func notePing(after reached: [String: Int]) { pinged = reached }

    package mutating func noteAnswer(at now: LoopInstant) {
        lastActiveAt = now
        if let pinged { confirmed = pinged }
        pinged = nil
    }

    /// Notes that a stream has ended: if it starts again, its positions may be those of another log.
    mutating func noteEnd(of stream: String) {
        pinged?[stream] = nil
        confirmed[stream] = nil
    }

    /// Notes that the client has joined a room: earlier pings prove nothing about that room's events.
    package mutating func noteJoin() {
        pinged = nil
        confirmed = [:]
    }
}

import Contracts
import Reactor

/// When a client last showed that it is there, and what it is known to have received.
///
/// Transports keep the order of what they carry: who answers a ping has all that was sent before the ping.
package struct ClientLiveness {
    /// When it last answered a ping, connected or sent an event.
    private(set) var lastActiveAt: LoopInstant
    /// The position of each stream's fan-out when the latest unanswered ping was sent.
    private var pinged: [String: Int]?
    private var confirmed: [String: Int] = [:]

    init(at now: LoopInstant) { lastActiveAt = now }

    /// The last position of a stream that the client surely has, if its audience was given it; 0 if nothing is sure.
    func confirmed(of stream: String) -> Int { confirmed[stream] ?? 0 }

    package mutating func noteEvent(at now: LoopInstant) { lastActiveAt = now }

    mutating func notePing(after reached: [String: Int]) { pinged = reached }

    package mutating func noteAnswer(at now: LoopInstant) {
        lastActiveAt = now
        if let pinged { confirmed = pinged }
        pinged = nil
    }

    /// It has joined a room: pings before that say nothing of what is sent there.
    package mutating func noteJoin() {
        pinged = nil
        confirmed = [:]
    }
}

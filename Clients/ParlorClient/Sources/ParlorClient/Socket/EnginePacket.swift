import Foundation

/// A text message of an Engine.IO 4 connection.
enum EnginePacket: Equatable, Sendable {
    case open(EngineHandshake)
    case close
    case ping(String)
    case pong(String)
    /// A Socket.IO packet.
    case message(Substring)
    case noop

    /// Parses a packet.
    ///
    /// - Throws: `ClientFailure.unreadable`, also for an upgrade packet: this client never upgrades a session.
    init(_ text: String) throws(ClientFailure) {
        let rest = text.dropFirst()
        switch text.first {
        case "0":
            self = .open(try ServerDecoder().decode(EngineHandshake.self, from: Data(rest.utf8)))
        case "1": self = .close
        case "2": self = .ping(String(rest))
        case "3": self = .pong(String(rest))
        case "4": self = .message(rest)
        case "6": self = .noop
        default: throw .unreadable("not an Engine.IO packet: \(text.prefix(100))")
        }
    }
}

/// The server's first packet.
struct EngineHandshake: Decodable, Equatable, Sendable {
    let sid: String
    /// The time between two pings of the server, in milliseconds.
    let pingInterval: Int
    /// The time that the server waits for an answer to a ping, in milliseconds.
    let pingTimeout: Int

    /// The time without a packet after which the connection counts as dead.
    var longestSilence: Duration { timeBetweenPings + Self.duration(pingTimeout) }

    var timeBetweenPings: Duration { Self.duration(pingInterval) }

    /// Converts a time, to at most an hour: a connection that is silent for longer cannot be trusted.
    private static func duration(_ milliseconds: Int) -> Duration {
        .milliseconds(min(max(milliseconds, 0), 3_600_000))
    }
}

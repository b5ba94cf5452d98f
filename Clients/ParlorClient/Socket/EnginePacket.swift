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
    /// - Throws: `ClientFailure.unreadable`, also for an upgrade, which does not occur here.
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
        default: throw .unreadable("no Engine.IO packet: \(text.prefix(100))")
        }
    }
}

/// The server's first packet.
struct EngineHandshake: Decodable, Equatable, Sendable {
    let sid: String
    /// The ping interval in milliseconds.
    let pingInterval: Int
    let pingTimeout: Int

    /// The silence after which the connection is dead: the server pings at every interval.
    var longestSilence: Duration { timeBetweenPings + Self.duration(pingTimeout) }

    var timeBetweenPings: Duration { Self.duration(pingInterval) }

    /// Returns the time, an hour at most: a connection that is silent for longer cannot be trusted.
    private static func duration(_ milliseconds: Int) -> Duration {
        .milliseconds(min(max(milliseconds, 0), 3_600_000))
    }
}

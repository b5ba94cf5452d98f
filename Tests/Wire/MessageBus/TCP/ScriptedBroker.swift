import ParlorReactor
import ParlorTestSupport

/// Welcomes clients, and sends its lines after a cue.
final class ScriptedBroker: ChannelHandler {
    private let pingInterval: Int
    private let cue: String
    private let script: [String]
    private let isDeaf: Bool
    private let lines: Arrivals<String>?
    private var received = ""
    private var isWelcome = false
    private var isDone = false

    private init(
        pingInterval: Int, cue: String, script: [String], isDeaf: Bool, lines: Arrivals<String>?
    ) {
        self.pingInterval = pingInterval
        self.cue = cue
        self.script = script
        self.isDeaf = isDeaf
        self.lines = lines
    }

    /// - Parameters:
    ///   - isDeaf: whether it stops reading after its cue.
    ///   - channels: gets each connection.
    ///   - lines: gets each received line.
    static func listen(
        on group: EventLoopGroup, pingInterval: Int, after cue: String, _ script: [String], deaf isDeaf: Bool = false,
        channels: Arrivals<Channel>? = nil, received lines: Arrivals<String>? = nil
    ) throws -> TCPListener {
        try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { channel in
            channels?.add(channel)
            return ScriptedBroker(
                pingInterval: pingInterval, cue: cue, script: script, isDeaf: isDeaf, lines: lines)
        }
    }

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        received += String(decoding: bytes, as: UTF8.self)
        if !isWelcome, received.contains("\n") {
            isWelcome = true
            let welcome = #"{"op":"welcome","version":1,"name":"scripted","pingInterval":\#(pingInterval)}"#
            channel.write(Array("\(welcome)\n".utf8))
        }
        if !isDone, received.contains(cue) {
            isDone = true
            if isDeaf { channel.pauseReading() }
            channel.write(Array(script.map { "\($0)\n" }.joined().utf8))
        }
        guard let lines else { return }
        while let end = received.firstIndex(of: "\n") {
            lines.add(String(received[..<end]))
            received.removeSubrange(...end)
        }
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}

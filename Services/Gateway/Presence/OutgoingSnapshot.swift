/// All that a gateway holds, to be told to the others part by part.
///
/// What changes while it is sent is told as it happens; each part says how things are when it leaves.
struct OutgoingSnapshot: Sendable {
    /// What the ids in a part come to, with what stands around each: escaped they may be six times as long, which is less
    /// than half of the bus' longest line.
    static let maxPartBytes = 64 * 1024
    private static let bytesAround = 32
    /// Between two parts: 6 MB/s, so that neither this loop nor a bus that takes 8 MiB ahead is filled.
    static let partInterval: Duration = .milliseconds(10)

    /// Somebody asked who has missed the beginning.
    var isWantedAgain = false
    private(set) var nextPart = 0
    private var rest: ArraySlice<Presence.Entry>

    init(of holdings: [Presence.Entry]) { rest = holdings[...] }

    var isOver: Bool { rest.isEmpty && nextPart > 0 }

    /// The next part: some of what is still held; at least one part, though there is nothing.
    mutating func takePart(where isHeld: (Presence.Entry) -> Bool) -> [Presence.Entry] {
        var part: [Presence.Entry] = []
        var bytes = 0
        while let holding = rest.first {
            bytes += holding.member.roomID.utf8.count + holding.member.userID.utf8.count + Self.bytesAround
            if bytes > Self.maxPartBytes, !part.isEmpty { break }
            rest.removeFirst()
            if isHeld(holding) { part.append(holding) }
        }
        nextPart += 1
        return part
    }
}

/// All that a gateway owns, published part by part.
///
/// What changes while it is sent is published as it happens; each part has how things are when it leaves.
struct OutgoingSnapshot: Sendable {
    /// The maximum size of the ids in a part and of the text around them. Escaped they may be six
    /// times as long, which is less than half of the bus's longest line.
    static let maxPartBytes = 64 * 1024
    private static let bytesAround = 32
    /// Between two parts: 6 MB/s, so that neither this loop nor a bus that takes 8 MiB ahead is filled.
    static let partInterval: Duration = .milliseconds(10)

    /// A gateway asked for a snapshot that has missed the beginning of this one.
    var isWantedAgain = false
    private(set) var nextPart = 0
    private var rest: ArraySlice<Presence.Entry>

    init(of entries: [Presence.Entry]) { rest = entries[...] }

    var isOver: Bool { rest.isEmpty && nextPart > 0 }

    /// The next part: some of what is still owned; at least one part, though there is nothing.
    mutating func takePart(where isOwned: (Presence.Entry) -> Bool) -> [Presence.Entry] {
        var part: [Presence.Entry] = []
        var bytes = 0
        while let entry = rest.first {
            bytes += entry.member.roomID.utf8.count + entry.member.userID.utf8.count + Self.bytesAround
            if bytes > Self.maxPartBytes, !part.isEmpty { break }
            rest.removeFirst()
            if isOwned(entry) { part.append(entry) }
        }
        nextPart += 1
        return part
    }
}

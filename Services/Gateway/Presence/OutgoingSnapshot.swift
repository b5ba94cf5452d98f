/// A snapshot of all entries that a gateway owns, published part by part.
///
/// Changes during the snapshot are published as they happen; each part has the state at the time it is sent.
struct OutgoingSnapshot: Sendable {
    /// The limit of a part: its ids and the text around them. Escaped they may be six times as long, which is
    /// less than half of the bus's longest line.
    static let maxPartBytes = 64 * 1024
    private static let bytesAround = 32
    /// The pause between two parts. It limits the rate to 6 MB/s, so that neither this loop nor a bus that
    /// queues 8 MiB is overloaded.
    static let partInterval: Duration = .milliseconds(10)

    /// True if a gateway requested a snapshot and has missed the beginning of this one.
    var isWantedAgain = false
    private(set) var nextPart = 0
    private var rest: ArraySlice<Presence.Entry>

    init(of entries: [Presence.Entry]) { rest = entries[...] }

    var isOver: Bool { rest.isEmpty && nextPart > 0 }

    /// Takes the next part, without entries that are no longer owned. There is at least one part, even if it
    /// is empty.
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

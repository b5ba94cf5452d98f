/// What is known of the other gateways: which of them live, and of which all is known that they hold.
///
/// Silence is counted in turns of our own timer and not in time. When this process was held up, what the others said
/// meanwhile has yet to be read, and no turn went by either. A gateway numbers what it says of its places: whoever misses
/// a number has missed something, and asks for a snapshot.
struct GatewayPeers: Sendable {
    /// Thirteen turns are 2.6 s: what a dead gateway held is gone within 3 s of its last word.
    static let turn: Duration = .milliseconds(200)
    static let maxSilentTurns = 13

    private struct Peer {
        var silentTurns = 0
        /// What it said last.
        var number: Int?
        /// All that it holds is known.
        var isWhole = false
        /// It was asked for a snapshot a beat ago at most, or is sending one.
        var isAnswering = false
        /// While a snapshot comes in: what it held by what was known before, and has not been said again.
        var unconfirmed: Set<Presence.Entry>?
    }

    private var peers: [String: Peer] = [:]

    /// - Returns: whether it was unknown.
    mutating func heard(from id: String) -> Bool {
        peers[id, default: Peer()].silentTurns = 0
        return peers[id]?.number == nil && peers[id]?.isAnswering == false
    }

    /// Counts a turn.
    ///
    /// - Returns: the dead, which are forgotten.
    mutating func countTurn() -> [String] {
        for id in peers.keys { peers[id]?.silentTurns += 1 }
        let dead = peers.filter { $0.value.silentTurns >= Self.maxSilentTurns }.keys.sorted()
        for id in dead { peers[id] = nil }
        return dead
    }

    /// It has said something of its places, and numbered it.
    mutating func said(_ number: Int, by id: String) {
        if peers[id]?.number != number &- 1 { missed(by: id) }
        peers[id]?.number = number
    }

    /// It lives, and this is the last that it has said of its places.
    mutating func hasSaid(_ number: Int, by id: String) {
        if peers[id]?.number != number { missed(by: id) }
        peers[id]?.number = number
    }

    private mutating func missed(by id: String) {
        peers[id]?.isWhole = false
        peers[id]?.unconfirmed = nil
    }

    // MARK: Snapshots

    /// It has been asked for a snapshot, or sends one unasked.
    mutating func isAnswering(_ id: String) { peers[id]?.isAnswering = true }

    /// - Returns: those to ask for a snapshot. Called once a beat: it is the time they have to begin one.
    mutating func takeUnknown() -> [String] {
        let unknown = peers.filter { !$0.value.isWhole && !$0.value.isAnswering }.keys.sorted()
        for id in peers.keys { peers[id]?.isAnswering = false }
        return unknown
    }

    mutating func snapshotBegins(of id: String, knowing known: Set<Presence.Entry>) { peers[id]?.unconfirmed = known }

    /// It has said what became of this: a snapshot that began before has nothing to add.
    mutating func confirm(_ holding: Presence.Entry, of id: String) { peers[id]?.unconfirmed?.remove(holding) }

    /// - Returns: what it holds no more; nothing if a part of the snapshot was missed.
    mutating func snapshotEnds(of id: String) -> Set<Presence.Entry> {
        guard let left = peers[id]?.unconfirmed else { return [] }
        peers[id]?.unconfirmed = nil
        peers[id]?.isWhole = true
        return left
    }
}

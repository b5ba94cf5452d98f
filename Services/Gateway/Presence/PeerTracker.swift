/// Tracks which of the other gateways' entries are known completely.
///
/// A gateway numbers the publications of its entries. A receiver that misses a number asks for a
/// snapshot. All entries of a gateway that is in sync are known.
struct PeerTracker: Sendable {
    private struct Peer {
        /// The number of its last publication.
        var number: Int?
        var isInSync = false
        /// It was asked for a snapshot a heartbeat ago at most, or is sending one.
        var isAnswering = false
        /// While a snapshot comes in: what it owned by what was known before, and has not been published again.
        var unconfirmed: Set<Presence.Entry>?
    }

    private var peers: [String: Peer] = [:]

    /// Notes that a gateway exists.
    ///
    /// - Returns: whether nothing is known of it, and it is not answering.
    mutating func note(_ id: String) -> Bool {
        let peer = peers[id, default: Peer()]
        peers[id] = peer
        return peer.number == nil && !peer.isAnswering
    }

    mutating func remove(_ id: String) { peers[id] = nil }

    /// It published something of its entries, with this number.
    mutating func advance(_ id: String, to number: Int) {
        if peers[id]?.number != number &- 1 { noteGap(id) }
        peers[id]?.number = number
    }

    /// Its last publication had this number.
    mutating func confirmLast(_ number: Int, of id: String) {
        if peers[id]?.number != number { noteGap(id) }
        peers[id]?.number = number
    }

    private mutating func noteGap(_ id: String) {
        peers[id]?.isInSync = false
        peers[id]?.unconfirmed = nil
    }

    // MARK: Snapshots

    /// It has been asked for a snapshot, or sends one unasked.
    mutating func noteAnswering(_ id: String) { peers[id]?.isAnswering = true }

    /// - Returns: those to ask for a snapshot. Called once a heartbeat: it is the time they have to begin one.
    mutating func takeOutOfSync() -> [String] {
        let ids = peers.filter { !$0.value.isInSync && !$0.value.isAnswering }.keys.sorted()
        for id in peers.keys { peers[id]?.isAnswering = false }
        return ids
    }

    mutating func beginSnapshot(of id: String, known: Set<Presence.Entry>) { peers[id]?.unconfirmed = known }

    /// It has published how this entry is: a snapshot that began before has nothing to add.
    mutating func confirm(_ entry: Presence.Entry, of id: String) { peers[id]?.unconfirmed?.remove(entry) }

    /// - Returns: what it no longer owns; nothing if a part of the snapshot was missed.
    mutating func endSnapshot(of id: String) -> Set<Presence.Entry> {
        guard let left = peers[id]?.unconfirmed else { return [] }
        peers[id]?.unconfirmed = nil
        peers[id]?.isInSync = true
        return left
    }
}

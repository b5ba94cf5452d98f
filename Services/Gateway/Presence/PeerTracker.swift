/// Tracks which of the other gateways' entries are known completely.
///
/// A gateway numbers the publications of its entries. A receiver that misses a number asks for a
/// snapshot. All entries of a gateway that is in sync are known.
struct PeerTracker: Sendable {
    private struct Peer {
        /// The number of its last publication.
        var number: Int?
        var isInSync = false
        /// True if it was asked for a snapshot at most a heartbeat ago, or is sending one.
        var isAnswering = false
        /// The entries that it owned before the incoming snapshot and that were not confirmed since; nil if no
        /// snapshot is coming in.
        var unconfirmed: Set<Presence.Entry>?
    }

    private var peers: [String: Peer] = [:]

    /// Notes that a gateway exists.
    ///
    /// - Returns: true if nothing is known of it, and no snapshot is expected.
    mutating func note(_ id: String) -> Bool {
        let peer = peers[id, default: Peer()]
        peers[id] = peer
        return peer.number == nil && !peer.isAnswering
    }

    mutating func remove(_ id: String) { peers[id] = nil }

    /// Notes a publication of a gateway's entries with this number.
    mutating func advance(_ id: String, to number: Int) {
        if peers[id]?.number != number &- 1 { noteGap(id) }
        peers[id]?.number = number
    }

    /// Notes that a gateway's last publication had this number.
    mutating func confirmLast(_ number: Int, of id: String) {
        if peers[id]?.number != number { noteGap(id) }
        peers[id]?.number = number
    }

    private mutating func noteGap(_ id: String) {
        peers[id]?.isInSync = false
        peers[id]?.unconfirmed = nil
    }

    // MARK: Snapshots

    /// Notes that a gateway has been asked for a snapshot, or sends one unasked.
    mutating func noteAnswering(_ id: String) { peers[id]?.isAnswering = true }

    /// - Returns: the gateways to ask for a snapshot. Called once a heartbeat, which is the time they have to
    ///   begin one.
    mutating func takeOutOfSync() -> [String] {
        let ids = peers.filter { !$0.value.isInSync && !$0.value.isAnswering }.keys.sorted()
        for id in peers.keys { peers[id]?.isAnswering = false }
        return ids
    }

    mutating func beginSnapshot(of id: String, known: Set<Presence.Entry>) { peers[id]?.unconfirmed = known }

    /// Notes that a gateway has published the state of this entry. The state takes precedence over a snapshot
    /// that began before.
    mutating func confirm(_ entry: Presence.Entry, of id: String) { peers[id]?.unconfirmed?.remove(entry) }

    /// - Returns: the entries that the gateway no longer owns; none if a part of the snapshot was missed.
    mutating func endSnapshot(of id: String) -> Set<Presence.Entry> {
        guard let left = peers[id]?.unconfirmed else { return [] }
        peers[id]?.unconfirmed = nil
        peers[id]?.isInSync = true
        return left
    }
}

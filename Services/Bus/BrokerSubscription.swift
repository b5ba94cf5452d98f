/// A `sub` or `serve` of a peer.
final class BrokerSubscription {
    let peer: BrokerPeer
    /// The beginning of each line for it, up to the number.
    let prefix: [UInt8]

    init(peer: BrokerPeer, number: UInt64) {
        self.peer = peer
        prefix = Array(#"{"op":"msg","sub":\#(number)"#.utf8)
    }
}

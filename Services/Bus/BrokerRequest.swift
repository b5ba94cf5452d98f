/// A request under way.
struct BrokerRequest {
    let requester: BrokerPeer
    /// The requester's number for it.
    let id: UInt64
    let responder: BrokerPeer
}

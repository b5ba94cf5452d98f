/// The last answer with all rooms, and its tag: while it is the answer still, the server need not send it again.
final class KeptListing: Sendable {
    private struct Last: Sendable {
        let order: RoomOrder
        let tag: String
        let listing: RoomListing
    }

    private let state = Guarded<Last?>(nil)

    func last(of order: RoomOrder) -> (tag: String, listing: RoomListing)? {
        state.withLock { last in last.flatMap { $0.order == order ? ($0.tag, $0.listing) : nil } }
    }

    func note(_ listing: RoomListing, tag: String?, of order: RoomOrder) {
        // One that lacks something is asked for until it does not.
        let last = tag.flatMap { listing.degraded.isEmpty ? Last(order: order, tag: $0, listing: listing) : nil }
        state.withLock { $0 = last }
    }
}

/// Caches the last list of all rooms with its ETag, so that the server sends the list again only if it has changed.
final class RoomListingCache: Sendable {
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
        // A degraded list is not cached, so that it is fetched again until it is complete.
        let last = tag.flatMap { listing.degraded.isEmpty ? Last(order: order, tag: $0, listing: listing) : nil }
        state.withLock { $0 = last }
    }
}

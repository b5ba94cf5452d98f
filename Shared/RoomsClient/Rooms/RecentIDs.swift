/// Which ids were seen, as far as that matters: the last ones each, and of all others that they are not newer than these. Ids sort
/// by creation.
struct RecentIDs: Sendable {
    /// So late an event may come behind newer ones, in events.
    private static let limit = 64
    private var ids: [String] = []
    private var newestForgotten = ""

    /// Takes all up to this one for seen.
    mutating func skip(through id: String) { newestForgotten = max(newestForgotten, id) }

    /// - Returns: false if it was seen already.
    mutating func insert(_ id: String) -> Bool {
        guard id > newestForgotten, !ids.contains(id) else { return false }
        if ids.count == Self.limit { skip(through: ids.removeFirst()) }
        ids.append(id)
        return true
    }
}

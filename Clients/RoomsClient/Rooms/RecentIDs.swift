/// Which ids were seen, as far as that matters: the last ones each, and of ids that come in the order of their creation, as those
/// of what is made do, that none is newer than the newest forgotten one. Ids sort by creation.
struct RecentIDs: Sendable {
    /// So late an event may come behind others, in events.
    private static let limit = 64
    private let isByCreation: Bool
    private var ids = RecentValues<Bool>(limit: limit)
    private var newestForgotten = ""

    /// - Parameter isByCreation: false for what is deleted: that may be the newest first.
    init(byCreation isByCreation: Bool = true) { self.isByCreation = isByCreation }

    /// Takes all up to this one for seen.
    mutating func skip(through id: String) { newestForgotten = max(newestForgotten, id) }

    /// - Returns: false if it was seen already.
    mutating func insert(_ id: String) -> Bool {
        guard id > newestForgotten, ids[id] == nil else { return false }
        if let forgotten = ids.set(true, for: id), isByCreation { skip(through: forgotten) }
        return true
    }
}

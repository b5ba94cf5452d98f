/// Remembers which ids were seen, in bounded memory. Ids sort by creation.
///
/// It remembers the last ids. For ids that arrive about in order of creation, it also remembers the newest id that it
/// dropped: all ids up to that one count as seen.
struct RecentIDs: Sendable {
    /// The number of remembered ids. If more than this many later events overtake an event, that event counts as seen.
    private static let limit = 64
    private let isByCreation: Bool
    private var ids = RecentValues<Bool>(limit: limit)
    private var newestForgotten = ""

    /// - Parameter isByCreation: false for deletions, which need not be in order of creation: the newest element may be
    ///   deleted first.
    init(byCreation isByCreation: Bool = true) { self.isByCreation = isByCreation }

    /// Marks all ids up to this one as seen.
    mutating func skip(through id: String) { newestForgotten = max(newestForgotten, id) }

    /// Marks an id as seen.
    ///
    /// - Returns: false if it counted as seen before.
    mutating func insert(_ id: String) -> Bool {
        guard id > newestForgotten, ids[id] == nil else { return false }
        if let forgotten = ids.set(true, for: id), isByCreation { skip(through: forgotten) }
        return true
    }
}

/// A bounded record of seen ids. It has the last ones, and for ids that arrive in the order of
/// their creation also the newest dropped one: anything up to that counts as seen. Ids sort by
/// creation.
struct RecentIDs: Sendable {
    /// The number of events by which an event may be late.
    private static let limit = 64
    private let isByCreation: Bool
    private var ids = RecentValues<Bool>(limit: limit)
    private var newestForgotten = ""

    /// - Parameter isByCreation: false for deletions, which may begin with the newest.
    init(byCreation isByCreation: Bool = true) { self.isByCreation = isByCreation }

    /// Marks all ids up to this one as seen.
    mutating func skip(through id: String) { newestForgotten = max(newestForgotten, id) }

    /// - Returns: false if it was seen already.
    mutating func insert(_ id: String) -> Bool {
        guard id > newestForgotten, ids[id] == nil else { return false }
        if let forgotten = ids.set(true, for: id), isByCreation { skip(through: forgotten) }
        return true
    }
}

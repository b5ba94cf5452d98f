/// The last ids that were seen. An event comes a second time soon or not at all, so that a few are enough.
struct RecentIDs: Sendable {
    private static let limit = 64
    private var ids: [String] = []

    /// - Returns: false if it is among them already.
    @discardableResult
    mutating func insert(_ id: String) -> Bool {
        guard !ids.contains(id) else { return false }
        if ids.count == Self.limit { ids.removeFirst() }
        ids.append(id)
        return true
    }

    func contains(_ id: String) -> Bool { ids.contains(id) }
}

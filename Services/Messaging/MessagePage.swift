extension Messaging {
    /// What the messages of a page may take: an answer has to fit into one line of the bus.
    private static let maxPageBytes = 1_000_000
    /// What a message takes beside its text, receipts included.
    private static let messageOverhead = 800

    /// How many of these, from the first on, go into one page: `limit`, or fewer long ones, but at least one.
    static func pageLength(_ candidates: [Message], limit: Int) -> Int {
        var bytes = 0
        for (index, message) in candidates.prefix(limit).enumerated() {
            // The text is written twice, and escapes double it at worst.
            bytes += 4 * message.text.utf8.count + messageOverhead
            if bytes > maxPageBytes, index > 0 { return index }
        }
        return min(candidates.count, limit)
    }
}

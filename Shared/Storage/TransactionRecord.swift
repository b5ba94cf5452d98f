/// What the writes of a transaction leave beside their SQL.
struct TransactionRecord {
    /// To be called after the commit.
    var hooks: [() -> Void] = []
    /// Of the event log, to be told after the commit.
    var entries: [LogEntry] = []
    var pending: (any PendingChanges)?

    struct Mark {
        fileprivate let hooks: Int
        fileprivate let entries: Int
    }

    var mark: Mark { Mark(hooks: hooks.count, entries: entries.count) }

    /// Undoes what one write has left. There was nothing pending before it: what undoes writes one by one has none wait.
    mutating func goBack(to mark: Mark) {
        hooks.removeSubrange(mark.hooks...)
        entries.removeSubrange(mark.entries...)
        pending = nil
    }
}

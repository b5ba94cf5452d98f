extension Outbox {
    /// Returns the number of messages that the server does not have, in all rooms: those that
    /// signing out would discard. Sends none of them: stored messages are counted on disk if they
    /// were not read yet.
    ///
    /// - Throws: the file system's error.
    public func unsentCount() throws -> Int {
        // Each message has a file of its own.
        let kept = keptFailure == nil ? 0 : try files.files.keys().count
        return queues.values.reduce(kept) { $0 + $1.entries.count }
    }
}

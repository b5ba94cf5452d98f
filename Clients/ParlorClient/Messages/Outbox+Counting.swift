extension Outbox {
    /// Returns the number of messages in all rooms that the server is not known to have. A sign-out would discard them.
    ///
    /// It does not start to send them: stored messages that were not read yet are counted on disk.
    ///
    /// - Throws: the file system's error; the refusal `not_forgotten`.
    public func unsentCount() throws -> Int {
        // Each message has a file of its own.
        let kept = keptFailure == nil ? 0 : try files.files.keys().count
        return queues.values.reduce(kept) { $0 + $1.entries.count }
    }
}

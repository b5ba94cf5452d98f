extension Outbox {
    /// Returns how many messages, in all rooms, are not known to be on the server. A sign-out would discard them.
    ///
    /// It does not start to send them. If the stored messages were not read from disk yet, it counts their files.
    ///
    /// - Throws: the file system's error; the refusal `not_forgotten`.
    package func unsentCount() throws -> Int {
        // Each message has a file of its own.
        let kept = keptFailure == nil ? 0 : try files.files.keys().count
        return queues.values.reduce(kept) { $0 + $1.entries.count }
    }
}

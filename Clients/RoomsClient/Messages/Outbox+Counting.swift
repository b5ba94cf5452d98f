extension Outbox {
    /// How many messages the server does not have, in all rooms: what signing out would throw away. Sends none of them: what is
    /// kept is counted where it is, if it was not taken over.
    ///
    /// - Throws: what the file system says.
    public func unsentCount() throws -> Int {
        // Each has a file of its own.
        let kept = keptFailure == nil ? 0 : try files.files.keys().count
        return queues.values.reduce(kept) { $0 + $1.entries.count }
    }
}

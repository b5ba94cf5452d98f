extension Outbox {
    /// How many messages the server does not have, in all rooms: what signing out would throw away. Reads what is kept if need be.
    ///
    /// - Throws: what the file system says.
    public func unsentCount() throws -> Int {
        _ = try start()
        return queues.keys.reduce(0) { $0 + messages(in: $1).count }
    }
}

extension Database {
    /// Writes a number that nobody needs, to test whether writing to a log is possible.
    ///
    /// - Throws: `StorageError` if it is not.
    public func tryWriting(in log: Int) async throws {
        try await write(in: log) { _ = try DatabaseIdentity.countCommit(on: $0) }
    }
}

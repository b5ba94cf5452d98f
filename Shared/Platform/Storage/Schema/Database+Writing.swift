extension Database {
    /// Writes a number that nobody needs, to test whether writing is possible.
    ///
    /// - Throws: `StorageError` if it is not.
    public func tryWriting() async throws { try await write { _ = try DatabaseIdentity.countCommit(on: $0) } }
}

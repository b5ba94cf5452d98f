extension Database {
    /// Writes without a change, to test whether writing is possible.
    ///
    /// - Throws: `StorageError` if it is not.
    public func tryWriting() async throws { try await write { try DatabaseIdentity.rewrite(on: $0) } }
}

extension SQLiteConnection {
    /// Returns true if one of our programs has opened it before.
    func hasSchemaHistory() throws(StorageError) -> Bool {
        var isThere = false
        do {
            try query("SELECT 1 FROM sqlite_master WHERE name = 'schema_history'") { _ in isThere = true }
        } catch let error as StorageError {
            throw error
        } catch {
            preconditionFailure("the body throws nothing: \(error)")
        }
        return isThere
    }
}

extension SQLiteConnection {
    /// Returns true if one of our programs has opened it before.
    func hasSchemaHistory() throws(StorageError) -> Bool {
        try isThere("SELECT 1 FROM sqlite_master WHERE name = 'schema_history'")
    }

    func hasColumn(_ column: String, in table: String) throws(StorageError) -> Bool {
        try isThere("SELECT 1 FROM pragma_table_info('\(table)') WHERE name = '\(column)'")
    }

    private func isThere(_ sql: String) throws(StorageError) -> Bool {
        var isThere = false
        do {
            try query(sql) { _ in isThere = true }
        } catch let error as StorageError {
            throw error
        } catch {
            preconditionFailure("the body throws nothing: \(error)")
        }
        return isThere
    }
}

extension SQLiteConnection {
    /// Returns true if one of our programs has opened it before.
    func hasSchemaHistory() throws(StorageError) -> Bool {
        try number("SELECT 1 FROM sqlite_master WHERE name = 'schema_history'") != nil
    }

    func hasColumn(_ column: String, in table: String) throws(StorageError) -> Bool {
        try number("SELECT 1 FROM pragma_table_info('\(table)') WHERE name = '\(column)'") != nil
    }
}

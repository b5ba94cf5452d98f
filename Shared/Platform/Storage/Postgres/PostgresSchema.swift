/// A service's schema in the database, with definitions that let the same SQL run as in SQLite.
enum PostgresSchema {
    /// Creates the schema. To be called within a transaction that holds the schema's lock.
    static func create(_ schema: String, on connection: any ScriptableConnection) throws {
        // Check first: IF NOT EXISTS requires the right to create a schema even if it exists.
        let isThere = try connection.first("SELECT 1 FROM pg_namespace WHERE nspname = $1", schema) { _ in true }
        if isThere == nil { try connection.run(script: "CREATE SCHEMA \"\(schema)\"") }
        let hasWords = try connection.first(
            """
            SELECT 1 FROM pg_type JOIN pg_namespace ON pg_namespace.oid = typnamespace
            WHERE nspname = $1 AND typname = 'blob'
            """, schema
        ) { _ in true }
        if hasWords == nil { try connection.run(script: words) }
    }

    /// The definitions. TEXT is compared byte by byte, and `lower` of it changes ASCII only, whatever the
    /// database's own collation is.
    private static let words = """
        CREATE DOMAIN text AS pg_catalog.text COLLATE "C";
        CREATE DOMAIN blob AS bytea;
        CREATE FUNCTION json_each(list pg_catalog.text) RETURNS TABLE (value pg_catalog.text)
            LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 20
            AS 'SELECT given COLLATE "C" FROM pg_catalog.json_array_elements_text(list::json) AS of_list (given)'
        """
}

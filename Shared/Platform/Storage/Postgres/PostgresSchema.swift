/// A service's schema in the database, with definitions that let the same SQL run as in SQLite.
enum PostgresSchema {
    /// Creates the schema, and what an earlier program has not defined in it. To be called within a transaction that holds
    /// the schema's lock.
    static func create(_ schema: String, on connection: any ScriptableConnection) throws {
        // Check first: IF NOT EXISTS requires the right to create a schema even if it exists.
        let isThere = try connection.exists("SELECT 1 FROM pg_namespace WHERE nspname = $1", schema)
        if !isThere { try connection.run(script: "CREATE SCHEMA \"\(schema)\"") }
        let defined = try connection.all(
            """
            SELECT typname FROM pg_type JOIN pg_namespace ON pg_namespace.oid = typnamespace WHERE nspname = $1
            UNION ALL SELECT proname FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace WHERE nspname = $1
            """, schema
        ) { $0.text(0) }
        for (name, definition) in definitions where !defined.contains(name) { try connection.run(script: definition) }
    }

    /// The definitions by name. TEXT is compared byte by byte, and `lower` of it changes ASCII only, whatever the
    /// database's own collation is.
    private static let definitions = [
        ("text", #"CREATE DOMAIN text AS pg_catalog.text COLLATE "C""#),
        ("blob", "CREATE DOMAIN blob AS bytea"),
        (
            "json_each",
            """
            CREATE FUNCTION json_each(list pg_catalog.text) RETURNS TABLE (value pg_catalog.text)
                LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 20
                AS 'SELECT given COLLATE "C" FROM pg_catalog.json_array_elements_text(list::json) AS of_list (given)'
            """
        ),
        (
            "unhex",
            """
            CREATE FUNCTION unhex(digits pg_catalog.text) RETURNS bytea
                LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT pg_catalog.decode(digits, ''hex'')'
            """
        ),
    ]
}

/// A step from one version of a schema to the next.
///
/// It is written in the SQL that SQLite and PostgreSQL share; `INTEGER` has 64 bits, `BLOB` is bytes, `TEXT`
/// is UTF-8 and is compared byte by byte. A released migration never changes: the next step is another
/// migration. All steps that a database needs are one transaction.
public struct Migration: Sendable {
    /// Converts rows that SQL alone cannot, and calls the closure with the number of those that were converted since the
    /// last call. If a database or its disk is full, it fails, and the migration changes nothing.
    public typealias Conversion = @Sendable (any Connection, _ converted: (Int) -> Void) throws -> Void

    /// The version, counted from 1, without gaps.
    public let version: Int
    public let name: String
    public let sql: String
    /// Called after the SQL.
    let convert: Conversion?

    public init(version: Int, name: String, sql: String, convert: Conversion? = nil) {
        self.version = version
        self.name = name
        self.sql = sql
        self.convert = convert
    }
}

/// The reason why this program does not use a database.
public enum MigrationError: Error, Equatable, CustomStringConvertible {
    /// A later program has migrated the database.
    case databaseIsNewer(schema: String, version: Int, known: Int)
    /// An earlier program migrated the database, and this one must not, as another may be using it.
    case databaseIsOlder(schema: String, version: Int, known: Int)
    /// The text of a migration is not the one that was applied.
    case changed(schema: String, version: Int, name: String)
    /// A conversion does not fit on the disk. The sizes are in bytes; the free space is nil if it is not known.
    case noSpace(needed: Int, free: Int?)

    public var description: String {
        switch self {
        case .databaseIsNewer(let schema, let version, let known):
            "the database has version \(version) of `\(schema)`, this program knows \(known): start a newer program"
        case .databaseIsOlder(let schema, let version, let known):
            """
            the database has version \(version) of `\(schema)`, this program knows \(known): start the service once, \
            which migrates it
            """
        case .changed(let schema, let version, let name):
            "migration \(version) of `\(schema)`, \(name), was changed after it had been applied: restore its text"
        case .noSpace(let needed, let free):
            """
            the migration needs about \(needed >> 20 + 1) MB of disk space\
            \(free.map { " and there are \($0 >> 20)" } ?? ""); nothing was changed
            """
        }
    }
}

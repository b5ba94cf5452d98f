/// A database that a program may be serving at the same time: for commands that run beside it.
///
/// Nothing is made or migrated. Its calls block, and all are one thread's; a transaction of it holds up nobody's reads, and
/// one that writes holds up the program's writes for as long as it lasts.
public protocol MaintenanceDatabase {
    /// - Throws: `MigrationError` if these are not the migrations that the service's own schema has seen, all of them.
    func requireSchema(_ migrations: [Migration]) throws

    /// Runs the body over one snapshot.
    func read<T>(_ body: (any Connection) throws -> T) throws -> T

    /// Runs the body in a transaction of its own. It is on disk when this returns.
    ///
    /// - Throws: what the body throws, with nothing done; `StorageError`, `.busy` if others write for too long without a pause.
    func write<T>(_ body: (any Connection) throws -> T) throws -> T

    func close()
}

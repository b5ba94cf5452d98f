/// A service's own database: closures over a connection, each in a transaction.
///
/// Two engines answer to it, so nothing here and in the SQL of a service may be of one engine only; README.md lists the
/// subset. What `write` has returned is on disk, unless it was asked not to wait for that.
public protocol Database: Sendable {
    /// Random, made when the database is created: a position in its event log means nothing in another.
    var databaseID: String { get }

    var statistics: DatabaseStatistics { get }

    /// The primitive under `read`: the body leaves its result with the caller.
    func snapshot(_ body: @escaping @Sendable (any Connection) throws -> Void) async throws

    /// The primitive under `write`: the body leaves its result with the caller.
    func transaction(
        holding bytes: Int, _ durability: Durability, _ body: @escaping @Sendable (any Connection) throws -> Void
    ) async throws

    /// Sets the hook that gets the events of each commit (`Connection.report`): in the order of commits, each once, and
    /// before the `write` that reported it returns.
    ///
    /// Once, before the first write. The hook runs on the writing thread: it passes the events on and returns.
    func onCommit(_ hook: @escaping @Sendable ([any CommitEvent]) -> Void)

    /// Finishes what is queued, and closes. Every call from now on throws `StorageError.closed`.
    func close() async
}

extension Database {
    /// Runs the body on a connection that cannot write, over one snapshot, which has all that was committed before this
    /// was called.
    ///
    /// Reads that wait at the same time may share the snapshot; a body that throws fails alone. The body runs on a thread
    /// that may block, but the reads that were queued behind it wait meanwhile. Cancelling the caller does not stop it.
    /// - Throws: what the body throws; `StorageError`, `.overloaded` at once when the queue is full. If the snapshot cannot
    ///   begin, all reads of it fail.
    @inlinable
    public func read<T: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> T) async throws -> T {
        let result = BodyResult<T>()
        try await snapshot { result.value = try body($0) }
        return result.taken()
    }

    /// Runs the body in a transaction that it may share with others', and returns once that is committed, and on disk if it is to be
    /// `synced`.
    ///
    /// It is queued before the first suspension: two calls made one after the other run in that order, and commit in
    /// it. A body that throws is undone alone. Cancelling the caller does not undo or lose the write.
    ///
    /// The body runs on the only thread that writes: it must not wait for anything. It may run more than once, as those that
    /// shared its transaction may fail, and may have run although this throws; only the last run that was committed
    /// stays. So what it does outside of the transaction has to bear that.
    /// - Parameter bytes: roughly what the closure holds, which the limit of the queue counts; by default, what ids and a
    ///   short text take.
    /// - Throws: what the body throws; `StorageError`, `.overloaded` at once when the queue is full. If the commit
    ///   fails, every write in it fails, those too whose body threw an error of its own: it may have seen what is undone.
    @discardableResult
    @inlinable
    public func write<T: Sendable>(
        holding bytes: Int = 1024, _ durability: Durability = .synced,
        _ body: @escaping @Sendable (any Connection) throws -> T
    ) async throws -> T {
        let result = BodyResult<T>()
        try await transaction(holding: bytes, durability) { result.value = try body($0) }
        return result.taken()
    }

    /// Writes without a change, to find out if writing is possible.
    ///
    /// - Throws: `StorageError`, if it is not.
    public func tryWriting() async throws { try await write { try DatabaseIdentity.rewrite(on: $0) } }
}

/// The result of a body. Engines do not know its type: they and all beneath are compiled once, and
/// only `read` and `write` for each caller's type.
///
/// `@unchecked Sendable`: the thread that runs the body sets it, and the caller takes it once that
/// is over.
@usableFromInline
final class BodyResult<Value: Sendable>: @unchecked Sendable {
    @usableFromInline var value: Value?

    @inlinable init() {}

    @inlinable
    func taken() -> Value {
        guard let value else { preconditionFailure("a transaction whose body has not run") }
        // The closure that holds this goes only with its batch.
        self.value = nil
        return value
    }
}

/// A database that a program may be serving at the same time: for commands that run beside it.
///
/// Nothing is made or migrated. Its calls block, and all are one thread's; a transaction of it holds up nobody's reads, and
/// one that writes holds up the program's writes for as long as it lasts. It has no hook for commits: what a write reports
/// (`Connection.report`) reaches nobody, and `Connection.afterCommit` calls nothing.
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

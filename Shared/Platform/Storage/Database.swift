/// A service's own database, which runs closures over a connection, each in a transaction.
///
/// It has two engines, so neither this interface nor the SQL of a service may depend on one of them;
/// README.md lists the shared subset. When `write` returns, its changes are on disk, unless it was called
/// with `.relaxed`.
public protocol Database: Sendable {
    /// A random id, made when the database is created. A position in its event log is invalid in another
    /// database.
    var databaseID: String { get }

    /// The numbers of its event logs. They are new whenever their count is changed; 0 is the first one.
    var logs: [Int] { get }

    var statistics: DatabaseStatistics { get }

    /// Implements `read`: the body stores its result for the caller. The completion is called once, on the thread that
    /// reads, or before this returns if the read cannot be queued. It must not block.
    func snapshot(
        _ body: @escaping @Sendable (any Connection) throws -> Void,
        completion: @escaping @Sendable (Result<Void, any Error>) -> Void)

    /// Implements `write`: the body stores its result for the caller.
    func transaction(
        holding bytes: Int, _ durability: Durability, in log: Int, wanting key: WantedKey?,
        _ body: @escaping @Sendable (any Connection) throws -> Void
    ) async throws

    /// Sets the hook that receives the events of each commit (`Connection.report`). Those of a log come in the order of its
    /// commits, each once, and before the `write` that reported them returns.
    ///
    /// To be called once, before the first write. The hook runs on the thread that writes to the log, so it must pass the
    /// events on and return.
    func onCommit(_ hook: @escaping @Sendable ([any CommitEvent]) -> Void)

    /// Checks that the files which the database has open still have their names. Blocks.
    ///
    /// - Throws: `StorageError.corrupt`.
    func requireFile() throws

    /// Finishes queued work, and closes. Later calls throw `StorageError.closed`.
    func close() async
}

extension Database {
    public func requireFile() throws {}

    /// Runs the body on a read-only connection over one snapshot, which includes everything committed before
    /// this call.
    ///
    /// Reads that wait at the same time may share the snapshot; a body that throws fails alone. The body runs on a
    /// thread that may block, but reads queued behind it wait meanwhile. Cancelling the caller does not stop it.
    /// The body runs again if the connection to the server was lost meanwhile.
    ///
    /// - Throws: the body's error; `StorageError`, `.overloaded` at once if the queue is full. If the
    ///   snapshot cannot begin, all its reads fail.
    @inlinable
    public func read<T: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> T) async throws -> T {
        let result = BodyResult<T>()
        try await withCheckedThrowingContinuation { continuation in
            snapshot({ result.value = try body($0) }, completion: { continuation.resume(with: $0) })
        }
        return result.taken()
    }

    /// The same for a caller that must not suspend, or whose answer needs no other thread.
    ///
    /// - Parameter completion: called once, on the thread that reads, or before this returns if the read cannot be
    ///   queued. It must not block.
    @inlinable
    public func read<T: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        let result = BodyResult<T>()
        snapshot({ result.value = try body($0) }, completion: { done in completion(done.map { result.taken() }) })
    }

    /// Runs the body in a transaction that it may share with other writes, and returns once it is committed,
    /// and on disk if it is `synced`.
    ///
    /// The write is queued before the first suspension: two calls for one log made one after the other run and commit in
    /// that order. A body that throws is undone alone. Cancelling the caller neither undoes nor loses the
    /// write.
    ///
    /// The body runs on the only thread that writes to the log, so it must not wait for anything. It may run more than
    /// once, as writes that share its transaction may fail, and it may have run although this throws. Only
    /// the changes of the run that was committed remain. So its effects outside the transaction must tolerate
    /// repetition.
    ///
    /// - Parameter bytes: the approximate size of the closure, which the queue's limit counts. The default
    ///   suits ids and a short text.
    /// - Parameter log: the number of the log to which its entries belong: that of its room, for a service with several.
    ///   Writes to different logs run at the same time, so they must not change the same rows.
    /// - Parameter key: what the body needs to know of the database. It is loaded with those of all writes of the batch,
    ///   before the first of them runs, into the pending changes (`Connection.pending`).
    /// - Throws: the body's error; `StorageError`, `.overloaded` at once if the queue is full. If the commit
    ///   fails, every write in it fails, including those whose body threw: they may have seen data that was then
    ///   undone.
    @discardableResult
    @inlinable
    public func write<T: Sendable>(
        holding bytes: Int = 1024, _ durability: Durability = .synced, in log: Int = 0,
        wanting key: WantedKey? = nil,
        _ body: @escaping @Sendable (any Connection) throws -> T
    ) async throws -> T {
        let result = BodyResult<T>()
        try await transaction(holding: bytes, durability, in: log, wanting: key) { result.value = try body($0) }
        return result.taken()
    }
}

/// The result of a body. Engines do not know its type, so they are compiled once. Only `read` and `write` are compiled
/// for each caller's type.
///
/// `@unchecked Sendable`: the thread that runs the body sets it, and the caller takes it once that is over.
@usableFromInline
final class BodyResult<Value: Sendable>: @unchecked Sendable {
    @usableFromInline var value: Value?

    @inlinable init() {}

    @inlinable
    func taken() -> Value {
        guard let value else { preconditionFailure("a transaction whose body has not run") }
        // The closure that holds this is released only with its batch.
        self.value = nil
        return value
    }
}

/// A database that a running program may use at the same time, for commands that run beside it.
///
/// Nothing is created or migrated. Its calls block, and all must come from one thread. Its transactions never
/// delay reads; one that writes delays the program's writes for as long as it lasts. It has no hook for
/// commits: events that a write reports (`Connection.report`) are dropped, and `Connection.afterCommit` calls
/// nothing.
public protocol MaintenanceDatabase {
    /// Checks the schema.
    ///
    /// - Throws: `MigrationError` if the migrations applied to the schema are not exactly these.
    func requireSchema(_ migrations: [Migration]) throws

    /// Runs the body over one snapshot.
    func read<T>(_ body: (any Connection) throws -> T) throws -> T

    /// Returns the numbers of the logs to which the service writes (`Database.logs`).
    func logs() throws -> [Int]

    /// Runs the body in a transaction of its own, which is on disk when this returns.
    ///
    /// - Parameter log: the number of the log to which its entries belong.
    /// - Throws: the body's error, with nothing changed; `StorageError`, `.busy` if others write for too long
    ///   without a pause.
    func write<T>(in log: Int, _ body: (any Connection) throws -> T) throws -> T

    func close()
}

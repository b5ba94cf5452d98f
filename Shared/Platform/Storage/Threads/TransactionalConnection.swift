/// A connection of an engine to which the threads of a database give transactions.
protocol TransactionalConnection: ScriptableConnection, Sendable {
    /// True if a failed statement has made the rest of the transaction useless.
    var hasLostTransaction: Bool { get }

    /// True if the last failure left nothing behind and its reason is likely to be gone: the
    /// connection was lost before the commit, or the engine preferred another transaction.
    var mayRunAgain: Bool { get }

    /// - Parameter durability: of the commit; it means nothing to a reader.
    func begin(_ durability: Durability) throws(StorageError)

    /// Runs the body.
    ///
    /// - Parameter isolated: whether it is undone alone if it fails. Otherwise `mustUndo` says whether the transaction has to be rolled back
    ///   then, with all that is in it.
    /// - Throws: the transaction's end, when it is lost with all that is in it. The body's own error is in the result.
    func perform(
        isolated: Bool, _ body: (any Connection) throws -> Void
    ) throws(StorageError) -> Result<Void, any Error>

    /// - Returns: the hooks to call, and the events to hand over, now that it is on disk.
    func commit() throws(StorageError) -> (hooks: [() -> Void], events: [any CommitEvent])

    /// Ends the transaction, whatever state it is in.
    func rollBack()

    /// Lets the statements of this transaction take as long as they need: for migrations.
    func liftTimeLimit() throws(StorageError)

    /// Keeps the log of the engine short, if that is the connection's task.
    ///
    /// - Returns: how much of it has been dealt with; 0 if that is not known.
    func checkpoint() -> Int

    /// For the thread that writes, after each commit.
    ///
    /// - Parameter copied: what the last `checkpoint` that was wanted has returned; 0 until then.
    func checkpointIfDue(copied: Int) -> CheckpointDecision

    func close()
}

enum CheckpointDecision {
    case notDue
    case done
    /// By another connection, so that no write waits for it.
    case wanted
}

extension TransactionalConnection {
    func begin() throws(StorageError) { try begin(.synced) }

    /// For `perform`: what the body comes to with what it has left pending, which is undone with it where it is undone alone.
    func result(of body: (any Connection) throws -> Void, isolated: Bool) -> Result<Void, any Error> {
        record.hasChanges = false
        let result = Result {
            try body(self)
            if isolated { try writePending() }
        }
        if let failure = record.failure, case .success = result { return .failure(failure) }
        return result
    }

    /// True if a write without a savepoint takes its batch down: it failed and may have left
    /// something behind.
    func mustUndo(_ result: Result<Void, any Error>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return record.hasChanges || record.failure != nil || error is StorageError || hasLostTransaction
    }

    /// Runs the body in a transaction of its own.
    ///
    /// - Throws: what the body throws, with nothing done; `StorageError`.
    func transaction<T>(_ body: (Self) throws -> T) throws -> T {
        do {
            try begin()
            let value = try body(self)
            try writePending()
            _ = try commit()
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    /// Runs the body over one snapshot.
    func snapshot<T>(_ body: (any Connection) throws -> T) throws -> T {
        try begin()
        // Ends what has changed nothing: it loses nothing, and cannot fail in a way that matters.
        defer { rollBack() }
        return try body(self)
    }
}

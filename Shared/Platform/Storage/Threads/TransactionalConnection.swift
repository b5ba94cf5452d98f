/// A connection of an engine, on which the threads of a database run transactions.
protocol TransactionalConnection: ScriptableConnection, Sendable {
    /// True if a failed statement has made the rest of the transaction useless.
    var hasLostTransaction: Bool { get }

    /// True if the last failure left no changes and its reason is likely to be gone: the connection was lost
    /// before the commit, or the engine preferred another transaction.
    var mayRunAgain: Bool { get }

    /// - Parameter durability: the durability of the commit; readers ignore it.
    func begin(_ durability: Durability) throws(StorageError)

    /// Runs the body.
    ///
    /// - Parameter isolated: true if a failure undoes this body alone. Otherwise `mustUndo` says whether the
    ///   whole transaction then has to be rolled back.
    /// - Throws: the failure that ended the transaction with everything in it. The body's own error is in the
    ///   result.
    func perform(
        isolated: Bool, _ body: (any Connection) throws -> Void
    ) throws(StorageError) -> Result<Void, any Error>

    /// Waits until all queries that were left for later have called their bodies.
    func flush() throws(StorageError)

    /// - Returns: the hooks to call, and the events to pass on, now that the commit is done.
    func commit() throws(StorageError) -> (hooks: [() -> Void], events: [any CommitEvent])

    /// Ends the transaction, whatever its state.
    func rollBack()

    /// Removes the time limit of this transaction's statements, for migrations.
    func liftTimeLimit() throws(StorageError)

    /// Keeps the engine's log short, if that is the connection's task.
    ///
    /// - Returns: how much of the log is in the database now; 0 if that is not known.
    func checkpoint() -> Int

    /// Checkpoints after a commit if needed. Called by the writing thread.
    ///
    /// - Parameter copied: the result of the last requested `checkpoint`; 0 until it is done.
    func checkpointIfDue(copied: Int) -> CheckpointDecision

    func close()
}

enum CheckpointDecision {
    case notDue
    case done
    /// Requests a checkpoint by another connection, so that no write waits for it.
    case wanted
}

extension TransactionalConnection {
    func begin() throws(StorageError) { try begin(.synced) }

    func flush() throws(StorageError) {}

    /// Loads what writes want to know, and the end of the event log, as nearly all of them append to it.
    func load(_ wanted: [WantedKey]) throws {
        guard let type = wanted.first?.type else { return }
        record.head = nil
        try queryLater(TransactionRecord.findHead, record.keys.start, record.keys.end) { [record] in
            record.head = LogKeys.seq(of: $0.int(0))
        }
        record.pending = try WantedKey.loaded(type, wanted, on: self)
        try flush()
    }

    /// Returns the result of the body, for `perform`. If it is isolated, the pending changes are written too,
    /// so that they are undone with it.
    func result(of body: (any Connection) throws -> Void, isolated: Bool) -> Result<Void, any Error> {
        record.hasChanges = false
        let result = Result {
            try body(self)
            if isolated { try writePending() }
        }
        if let failure = record.failure, case .success = result { return .failure(failure) }
        return result
    }

    /// Returns true if a failed write without a savepoint must take its batch down, because it may have left changes.
    func mustUndo(_ result: Result<Void, any Error>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return record.hasChanges || record.failure != nil || error is StorageError || hasLostTransaction
    }

    /// Runs the body in a transaction of its own.
    ///
    /// - Throws: the body's error, with nothing changed; `StorageError`.
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
        // A read changes nothing, so the rollback loses nothing, and a failure of it does not matter.
        defer { rollBack() }
        return try body(self)
    }
}

/// A connection of an engine to which the threads of a database give transactions.
protocol TransactionalConnection: ScriptableConnection, Sendable {
    /// Whether a failed statement has made the transaction useless for what comes next in it.
    var hasLostTransaction: Bool { get }

    func begin() throws(StorageError)

    /// Ends the transaction, whatever state it is in.
    func rollBack()

    /// Keeps the log of the engine short, if that is the connection's task.
    func checkpoint()
}

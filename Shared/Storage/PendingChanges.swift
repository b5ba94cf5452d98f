/// Changes that the writes of one transaction add up, so that a row which many of them change is written once.
///
/// They are written before the commit, or before whoever reads the rows (`Connection.writePending`), and are gone with a transaction that
/// is undone. A service has one kind of them at most.
public protocol PendingChanges: AnyObject {
    init()

    /// Writes all of them. It is not called again.
    func write(on connection: any Connection) throws(StorageError)
}

extension Connection {
    /// The transaction's own, made when it is first asked for.
    @inlinable
    public func pending<Changes: PendingChanges>(_: Changes.Type) -> Changes {
        guard let pending = pendingChanges else {
            let changes = Changes()
            pendingChanges = changes
            return changes
        }
        guard let changes = pending as? Changes else { preconditionFailure("a second kind of pending changes") }
        return changes
    }

    /// What is read from here on finds them in the database. Cheap where there are none.
    public func writePending() throws(StorageError) {
        guard let pending = pendingChanges else { return }
        pendingChanges = nil
        try pending.write(on: self)
    }
}

/// Changes that the writes of one transaction add up, so that a row which many of them change is written once.
///
/// They are written before the commit, or before whoever reads the rows (`Connection.writePending`), and are gone with a transaction that
/// is undone. In a batch with savepoints each write writes its own. A service has one kind of them at most.
public protocol PendingChanges: AnyObject {
    init()

    /// Writes all of them. It is not called again, and nothing is added any more.
    func write(on connection: any Connection) throws(StorageError)
}

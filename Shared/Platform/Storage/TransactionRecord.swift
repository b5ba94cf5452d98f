/// An event that a write reports once it is committed: an entry of the event log.
public protocol CommitEvent: AnyObject, Sendable {
    /// Its number in the log. It rises from event to event, and the log has it.
    var seq: Int { get }
}

/// The effects of a transaction's writes other than their SQL.
public final class TransactionRecord {
    fileprivate let isWriting: Bool
    /// The closures to call after the commit.
    fileprivate(set) var hooks: [() -> Void] = []
    /// The events to pass to the database's hook after the commit.
    fileprivate(set) var events: [any CommitEvent] = []
    @usableFromInline var pending: (any PendingChanges)?
    /// True if the current write, or the last one, has changed rows or added anything here, so that it has to
    /// be undone if it fails.
    @usableFromInline var hasChanges = false
    /// The error of writing the pending changes. The transaction lacks them, even if the body
    /// caught the error.
    fileprivate(set) var failure: StorageError?

    struct Mark {
        fileprivate let hooks: Int
        fileprivate let events: Int
    }

    init(isWriting: Bool) { self.isWriting = isWriting }

    var mark: Mark { Mark(hooks: hooks.count, events: events.count) }

    /// Undoes the additions of one write. There were no pending changes before the write: with savepoints,
    /// each write writes its own at its end.
    func goBack(to mark: Mark) {
        hooks.removeSubrange(mark.hooks...)
        events.removeSubrange(mark.events...)
        pending = nil
        failure = nil
        hasChanges = false
    }

    func clear() {
        hooks = []
        events = []
        pending = nil
        failure = nil
    }
}

extension Connection {
    /// Calls the hook once this write is committed, before the write returns. The write is on disk by then, unless it
    /// is `.relaxed`. If the write is undone, the hook is never called. Hooks run in order, on the writing thread. A
    /// read that calls this ends the process. A `MaintenanceDatabase` calls no hooks.
    public func afterCommit(_ hook: @escaping () -> Void) {
        precondition(record.isWriting, "a read commits nothing")
        record.hasChanges = true
        record.hooks.append(hook)
    }

    /// Passes an event to the database's hook (`Database.onCommit`) after this write is committed; never if
    /// it is undone. A read that calls this ends the process. A `MaintenanceDatabase` has no hook, so events
    /// reported there are dropped.
    public func report(_ event: any CommitEvent) {
        precondition(record.isWriting, "a read commits nothing")
        record.hasChanges = true
        record.events.append(event)
    }

    /// The last event that this transaction has reported, by any of its writes; nil if there is none.
    public var lastReported: (any CommitEvent)? { record.events.last }

    /// Returns the transaction's pending changes, which are created at the first call. After they are written, the next
    /// call creates new ones.
    @inlinable
    public func pending<Changes: PendingChanges>(_: Changes.Type) -> Changes {
        record.hasChanges = true
        guard let pending = record.pending else {
            let changes = Changes()
            record.pending = changes
            return changes
        }
        guard let changes = pending as? Changes else { preconditionFailure("a second kind of pending changes") }
        return changes
    }

    /// Writes the pending changes, so that later reads find them in the database. Cheap if there
    /// are none.
    ///
    /// - Throws: an error that fails this write, even if the caller catches it.
    public func writePending() throws(StorageError) {
        guard let changes = record.pending else { return }
        record.pending = nil
        // The pending changes may be those of earlier writes, so writing them does not count as a change of
        // this one.
        let hasChanges = record.hasChanges
        defer { record.hasChanges = hasChanges }
        do {
            try changes.write(on: self)
        } catch {
            record.failure = error
            throw error
        }
    }
}

/// Changes that the writes of one transaction accumulate, so that a row which many of them change is written
/// once.
///
/// They are written before the commit, or before a read of the rows (`Connection.writePending`), and are lost
/// with a transaction that is rolled back. In a batch with savepoints each write writes its own. A service
/// has at most one type of them.
public protocol PendingChanges: AnyObject {
    init()

    /// Writes all changes. Called once; nothing is added later.
    func write(on connection: any Connection) throws(StorageError)
}

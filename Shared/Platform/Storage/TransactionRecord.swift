/// An event that a write reports once it is committed: an entry of the event log.
public protocol CommitEvent: AnyObject, Sendable {
    /// Its number in the log. It rises from event to event, and the log has it.
    var seq: Int { get }
}

/// The numbers of a log's entries in the table `events`, which has the entries of all logs: an entry's number in the upper
/// log is above all of those in the lower ones. For the only log of a database they are the entries' own numbers.
package struct LogKeys: Sendable {
    private static let bits = 44

    package let log: Int

    package init(_ log: Int) { self.log = log }

    /// The keys of entries are above this, and below `end`.
    package var start: Int { log << Self.bits }
    package var end: Int { (log + 1) << Self.bits }

    /// - Parameter seq: any number below the log's first one counts as 0, and any beyond its last possible one as that.
    package func key(_ seq: Int) -> Int { start + min(max(seq, 0), end - start - 1) }

    package static func log(of key: Int) -> Int { key >> bits }
    package static func seq(of key: Int) -> Int { key & (1 << bits - 1) }
}

/// The effects of a transaction's writes other than their SQL.
public final class TransactionRecord {
    /// The SQL that finds the last key of a log, between its start and its end.
    package static let findHead = "SELECT coalesce(max(seq), $1) FROM events WHERE seq > $1 AND seq < $2"

    fileprivate let isWriting: Bool
    /// The log of the transaction's entries.
    package internal(set) var keys = LogKeys(0)
    /// The closures to call after the commit.
    fileprivate(set) var hooks: [() -> Void] = []
    /// The events to pass to the database's hook after the commit.
    fileprivate(set) var events: [any CommitEvent] = []
    @usableFromInline var pending: (any PendingChanges)?
    /// True if the current write, or the last one, has changed rows or added anything here, so that it has to
    /// be undone if it fails.
    @usableFromInline var hasChanges = false
    /// The number of the log's last entry when the transaction began, once it is known.
    var head: Int?
    /// The error of a change that is made after its write: a pending one, or one that was left for later. The transaction
    /// lacks it, even if the body caught the error.
    var failure: StorageError?

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
        head = nil
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

    /// The number of the log to which the transaction's entries belong (`Database.write`).
    public var log: Int { record.keys.log }

    /// Returns the number of the last entry of the transaction's log: the last that this transaction has reported, or else
    /// the last in the table. No other transaction can take a number meanwhile.
    public func lastSeq() throws(StorageError) -> Int {
        if let last = record.events.last { return last.seq }
        if let head = record.head { return head }
        let keys = record.keys
        let head = try number(TransactionRecord.findHead, keys.start, keys.end).map(LogKeys.seq) ?? 0
        record.head = head
        return head
    }

    /// The transaction's pending changes, if there are any.
    package var pendingChanges: (any PendingChanges)? { record.pending }

    /// Returns the transaction's pending changes: those that were loaded for the keys of its writes, or else new ones. After
    /// they are written, the next write with a key loads it again.
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
/// with a transaction that is rolled back. In a batch with savepoints each write loads and writes its own. A service
/// has at most one type of them.
public protocol PendingChanges: AnyObject, SendableMetatype {
    /// What a write needs to know before it runs (`Database.write`).
    associatedtype Key: Sendable = Never

    init()

    /// Loads what writes need to know, with `Connection.queryLater`. Called once, before the first of them; in a batch
    /// these are all writes with a key.
    ///
    /// - Throws: an error that fails the write whose key causes it.
    func load(_ keys: [Key], on connection: any Connection) throws(StorageError)

    /// Writes all changes, with `Connection.executeLater`. Called once; nothing is added later.
    func write(on connection: any Connection) throws(StorageError)
}

extension PendingChanges where Key == Never {
    public func load(_ keys: [Key], on connection: any Connection) throws(StorageError) {}
}

/// The key of a write, for the engines, which do not know its type.
public struct WantedKey: Sendable {
    let type: any PendingChanges.Type
    private let key: any Sendable

    public init<Changes: PendingChanges>(_ key: Changes.Key, of type: Changes.Type) {
        self.key = key
        self.type = type
    }

    static func loaded<Changes: PendingChanges>(
        _: Changes.Type, _ wanted: [WantedKey], on connection: any Connection
    ) throws(StorageError) -> any PendingChanges {
        let changes = Changes()
        let keys = wanted.map { wanted in
            guard let key = wanted.key as? Changes.Key else { preconditionFailure("a second kind of pending changes") }
            return key
        }
        try changes.load(keys, on: connection)
        return changes
    }
}

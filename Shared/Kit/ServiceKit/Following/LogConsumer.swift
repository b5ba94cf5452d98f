import ParlorContracts
import ParlorEventLog
import ParlorMessageBus
import ParlorStorage

/// What a service makes of another service's log, which a `DurableFollower` reads for it.
///
/// An error that is thrown here is logged, and the same step is repeated a second later. No later entries are read
/// until it succeeds. An entry that a service cannot use has to be skipped, not refused.
public protocol LogConsumer: Sendable {
    /// Decides where to follow the log from: at first, and whenever entries after the stored position are lost. By
    /// default that is the oldest entry that is still there, or the head of a log that replaced the one before.
    ///
    /// A service that has to know what the lost entries said reads a snapshot here (`FollowedLog.forEachSnapshotPage`),
    /// and returns its position. Entries after that position may repeat what the snapshot has, as its later pages are
    /// newer than the position.
    ///
    /// After a crash this is called again, so it first deletes what an earlier call has stored. Within one instance,
    /// one call is in progress at a time. Instances that share a database may call it at the same time. So a service
    /// that stores a snapshot here runs as one instance.
    ///
    /// - Returns: the position after which entries are taken. It is stored.
    func begin(_ log: FollowedLog, because reason: BeginReason) async throws -> LogPosition

    /// Stores the result of entries, in the transaction that stores the position after them. So each entry takes effect
    /// once, in order, whatever ends the process.
    ///
    /// The transaction may run again, so this must change nothing but the database. To tell clients, append to the
    /// service's own log on the same connection (`EventLog.append`).
    func take(_ entries: [LogEntry], on connection: any Connection) throws

    /// Called after the commit of `take`; not if another instance has taken the same entries.
    func taken()

    /// Returns false while no entry matters. Entries are then not read, and the position moves with the log's head. This
    /// is called before and after the head is read. Entries are skipped only if it returns false both times.
    func wantsEntries() async throws -> Bool

    /// Returns false if `take` would change nothing. The position is then stored at intervals only, and after a crash
    /// the same entries are read again. It may be asked while `begin` reads a snapshot for another log.
    func needsWrite(for entries: [LogEntry]) async throws -> Bool
}

extension LogConsumer {
    public func begin(_ log: FollowedLog, because reason: BeginReason) async throws -> LogPosition {
        reason == .replaced ? log.head : log.beginning
    }

    public func taken() {}
    public func wantsEntries() async throws -> Bool { true }
    public func needsWrite(for entries: [LogEntry]) async throws -> Bool { true }
}

/// Why a follower has no position to continue from.
public enum BeginReason: String, Sendable {
    /// The log was never followed with this database.
    case first
    /// Entries after the position were deleted, because they are older than a day.
    case pruned
    /// It is another log, such as that of a restored backup.
    case replaced
}

/// What another service's log has, at one moment. It also reads that service's snapshot, for what the entries lack.
public struct FollowedLog: Sendable {
    /// The position of the newest entry.
    public let head: LogPosition
    /// The `seq` of the oldest entry that is still there; one more than that of the head if there is none.
    public let oldest: Int
    private let logID: LogID
    private let client: LogClient

    init(_ page: LogPage, of logID: LogID, _ client: LogClient) {
        head = page.head
        oldest = page.oldest
        self.logID = logID
        self.client = client
    }

    /// True if no entry was ever deleted, and the service has had no other logs: the log says all that has happened.
    public var isWhole: Bool { hasFirstEntry && logID.number == 0 }
    /// True if none of this log's entries were deleted.
    var hasFirstEntry: Bool { oldest == 1 }
    /// The position before the oldest entry that is still there.
    public var beginning: LogPosition {
        // The digest of a deleted entry is unknown. The log's owner sees by `seq` that the position is before `oldest`.
        LogPosition(databaseID: head.databaseID, seq: oldest - 1, digest: 0)
    }

    /// The context for the requests that `begin` makes.
    public var context: BusContext { client.context() }

    /// Requests all that the log's owner has, page by page, and calls the body for each page in order.
    ///
    /// - Returns: the position from which to follow the log: that of the first page.
    /// - Throws: `ServiceError` if the owner cannot be reached, refuses, or answers with something else, and if its log
    ///   was replaced meanwhile; `CancellationError`; the body's errors.
    public func forEachSnapshotPage(_ body: (SnapshotPage) async throws -> Void) async throws -> LogPosition {
        try await client.forEachSnapshotPage(of: logID, body)
    }
}

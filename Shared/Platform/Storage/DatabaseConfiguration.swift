import Workers

/// The limits of a database; the defaults are for one service on one machine.
public struct DatabaseConfiguration: Sendable {
    /// The priority of all its threads.
    public var priority = ThreadPriority.normal
    /// Threads that read. Two: a long read does not hold up the short ones, and the machine has cores for no more.
    public var readers = 2
    /// Writes that wait. At a commit a millisecond and `maxBatch` a commit they are served within tens of milliseconds;
    /// more would only make each caller wait longer.
    public var maxQueuedWrites = 16_384
    /// The approximate memory of waiting writes. Beyond it writes are refused: about four thousand
    /// of the largest elements.
    public var maxQueuedBytes = 64 << 20
    public var maxQueuedReads = 16_384
    /// Writes in one commit. It bounds how long the first of them waits for the last, and what one failure takes along.
    public var maxBatch = 1024
    /// SQLite alone: how long we wait for another process' lock: a copy being made, a second program starting.
    public var busyTimeoutMilliseconds = 5000
    /// SQLite alone: pages the file may grow to; nil for as many as the disk has.
    public var maxPages: Int?
    /// For the drill alone.
    public var crashPoint: CrashPoint?

    public init() {}
}

/// The event that a write waits for before it returns.
public enum Durability: Sendable {
    /// It is on disk: a power cut takes nothing away.
    case synced
    /// It is committed, and no disk is waited for. A crash of the program takes nothing away; a power cut may take the last writes
    /// back, whole and the newest first, up to the last one that was synced. For what would simply be done again, as a sync is waited
    /// for by everybody who shares the disk.
    ///
    /// A write that shares its transaction with a synced one is synced with it.
    case relaxed
}

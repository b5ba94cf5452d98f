import Workers

/// The limits of a database; the defaults are for one service on one machine.
public struct DatabaseConfiguration: Sendable {
    /// Of all its threads.
    public var priority = ThreadPriority.normal
    /// Threads that read. Two: a long read does not hold up the short ones, and the machine has cores for no more.
    public var readers = 2
    /// Writes that wait. At a commit a millisecond and `maxBatch` a commit they are served within tens of milliseconds;
    /// more would only make each caller wait longer.
    public var maxQueuedWrites = 16_384
    /// What waiting writes hold, roughly: four thousand of the largest elements are refused, and not kept in memory.
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

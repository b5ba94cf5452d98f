import ParlorWorkers

/// The limits of a database; the defaults are for one service on one machine.
public struct DatabaseConfiguration: Sendable {
    /// The priority of all its threads.
    public var priority = ThreadPriority.normal
    /// How many event logs there are, 1 to 16, each with a thread that writes. Several are for PostgreSQL only.
    public var logCount = 1
    /// The number of threads that read. With two, one long read does not delay short ones. More would find no free
    /// core.
    public var readers = 2
    /// The limit of waiting writes. With a commit of `maxBatch` writes each millisecond, a full queue is served within
    /// tens of milliseconds. A longer queue would only lengthen each caller's wait.
    public var maxQueuedWrites = 16_384
    /// The approximate memory of waiting writes. Beyond it writes are refused. It suffices for about four
    /// thousand of the largest elements.
    public var maxQueuedBytes = 64 << 20
    public var maxQueuedReads = 16_384
    /// The limit of writes in one commit. It bounds how long the first of them waits for the last, and how
    /// many one failure affects.
    public var maxBatch = 1024
    /// The wait for another process's lock, such as that of a backup or of a second program that starts. SQLite only.
    public var busyTimeoutMilliseconds = 5000
    /// The time for which a program that hangs or disappears within a transaction may block others. PostgreSQL only.
    public var idleTimeoutMilliseconds = 5000
    /// The limit of the file's pages; nil for as many as the disk has. SQLite only.
    public var maxPages: Int?
    /// Called while a migration converts rows, with the number of those that it has converted.
    public var onConversion: @Sendable (Int) -> Void = { _ in }
    /// Called if another program has changed the number of logs while this one had no connection: it must not go on. On any
    /// thread, maybe several times.
    public var onOtherLogs: @Sendable () -> Void = {}
    /// The point at which the process kills itself. For `parlor-drill` and tests only (`CRASH_AT`).
    public var crashPoint: CrashPoint?

    public init() {}
}

/// The event that a write waits for before it returns.
public enum Durability: Sendable {
    /// The commit is on disk, so a power cut loses nothing.
    case synced
    /// The commit is done, without waiting for the disk. A crash of the program loses nothing. A power cut may
    /// lose the latest writes, each as a whole, but none before the last synced one. Use it for work that can simply be
    /// repeated, as each sync delays everyone who uses the disk.
    ///
    /// A write that shares its transaction with a synced one is synced with it.
    case relaxed
}

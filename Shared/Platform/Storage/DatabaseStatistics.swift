/// What a database has done since it was opened, for metrics.
public struct DatabaseStatistics: Sendable, Equatable {
    /// Reads that ran; with `snapshots`, how many share one.
    public var reads = 0
    public var snapshots = 0
    /// Writes that a commit has ended, those that were refused or undone alone included; with `commits`, how many share one.
    public var writes = 0
    public var commits = 0
    /// Commits that failed, with all of their writes.
    public var failedCommits = 0
    public var checkpoints = 0
    public var queuedWrites = 0
    public var queuedReads = 0

    /// Whether the last batch that had anything to write failed as a whole: nobody can write, or could not then.
    public var isWritingFailing = false

    public init() {}
}

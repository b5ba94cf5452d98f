import ParlorStorage

extension Metrics {
    /// Registers the metrics of a service's database: reads and writes, and the snapshots and commits that
    /// they share.
    func watch(_ database: any Database, of service: String) {
        func count(_ name: String, _ help: String, _ read: @escaping @Sendable (DatabaseStatistics) -> Int) {
            counter("parlor_database_\(name)_total", help, labels: ["service": service]) { read(database.statistics) }
        }
        func measure(_ name: String, _ help: String, _ read: @escaping @Sendable (DatabaseStatistics) -> Int) {
            gauge("parlor_database_\(name)", help, labels: ["service": service]) { Double(read(database.statistics)) }
        }
        count("reads", "Reads.", \.reads)
        count("snapshots", "Snapshots that served reads.", \.snapshots)
        count("writes", "Writes in commits that succeeded, including writes that failed alone.", \.writes)
        count("commits", "Commits.", \.commits)
        counter(
            "parlor_database_commit_seconds_total", "Time that commits took, with the disk.",
            labels: ["service": service], seconds: { database.statistics.commitTime / .seconds(1) })
        count("failed_commits", "Failed commits.", \.failedCommits)
        count("checkpoints", "Checkpoints of the write-ahead log.", \.checkpoints)
        measure("queued_reads", "Queued reads.", \.queuedReads)
        measure("queued_writes", "Queued writes.", \.queuedWrites)
    }
}

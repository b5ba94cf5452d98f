import Storage

extension Metrics {
    /// What a service's database does: reads and writes beside the snapshots and commits that they share.
    func watch(_ database: any Database, of service: String) {
        func count(_ name: String, _ help: String, _ read: @escaping @Sendable (DatabaseStatistics) -> Int) {
            counter("parlor_database_\(name)_total", help, labels: ["service": service]) { read(database.statistics) }
        }
        func measure(_ name: String, _ help: String, _ read: @escaping @Sendable (DatabaseStatistics) -> Int) {
            gauge("parlor_database_\(name)", help, labels: ["service": service]) { Double(read(database.statistics)) }
        }
        count("reads", "Reads.", \.reads)
        count("snapshots", "Snapshots that reads were made over.", \.snapshots)
        count("writes", "Writes that a commit has ended.", \.writes)
        count("commits", "Commits.", \.commits)
        count("failed_commits", "Commits that failed, with all of their writes.", \.failedCommits)
        count("checkpoints", "Times that the log was copied into the database.", \.checkpoints)
        measure("queued_reads", "Reads that wait.", \.queuedReads)
        measure("queued_writes", "Writes that wait.", \.queuedWrites)
    }
}

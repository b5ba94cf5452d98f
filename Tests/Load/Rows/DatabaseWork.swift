import TestClients

/// The work of the services' databases, from the server's `/metrics`: complete for one process, and
/// empty for separate ones.
struct DatabaseWork {
    private var reads: Int?
    private var snapshots: Int?

    static func soFar(in fixture: Fixture) async throws(ClientError) -> DatabaseWork {
        let client = try await fixture.connect()
        defer { client.close() }
        let answers = try await HTTPBatch([HTTPCall("GET", "/metrics")], on: [client]).run()
        return DatabaseWork(metrics: String(decoding: answers.first?.body ?? [], as: UTF8.self))
    }

    private init(reads: Int?, snapshots: Int?) {
        self.reads = reads
        self.snapshots = snapshots
    }

    /// - Parameter text: Prometheus' text format. Unknown lines are ignored.
    init(metrics text: String) {
        for line in text.split(separator: "\n") {
            guard let brace = line.firstIndex(of: "{"), let space = line.lastIndex(of: " "),
                let count = Int(line[line.index(after: space)...])
            else { continue }
            switch line[..<brace] {
            case "parlor_database_reads_total": reads = (reads ?? 0) + count
            case "parlor_database_snapshots_total": snapshots = (snapshots ?? 0) + count
            default: break
            }
        }
    }

    static func - (later: DatabaseWork, earlier: DatabaseWork) -> DatabaseWork {
        func difference(_ path: KeyPath<DatabaseWork, Int?>) -> Int? {
            guard let later = later[keyPath: path], let earlier = earlier[keyPath: path] else { return nil }
            return later - earlier
        }
        return DatabaseWork(reads: difference(\.reads), snapshots: difference(\.snapshots))
    }

    func figures(per clients: Int) -> [Figure] {
        [("database reads a client", reads), ("snapshots a client", snapshots)].compactMap { name, count in
            count.map { Figure(name, Double($0) / Double(clients), .ratio) }
        }
    }
}

import TestClients

/// The counters in the server's `/metrics`, summed over their labels: complete for one process. Separate ones have
/// only the gateway's there.
struct ServerCounters {
    private var counts: [String: Int] = [:]

    static func soFar(in fixture: Fixture) async throws(ClientError) -> ServerCounters {
        let client = try await fixture.connect()
        defer { client.close() }
        let answers = try await HTTPBatch([HTTPCall("GET", "/metrics")], on: [client]).run()
        return ServerCounters(metrics: String(decoding: answers.first?.body ?? [], as: UTF8.self))
    }

    /// - Parameter text: Prometheus' text format. Lines of another form are ignored.
    init(metrics text: String) {
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let count = Int(line[line.index(after: space)...]) else {
                continue
            }
            let name = line[..<(line.firstIndex(of: "{") ?? space)]
            counts[String(name), default: 0] += count
        }
    }

    static func - (later: ServerCounters, earlier: ServerCounters) -> ServerCounters {
        var difference = later
        for (name, count) in earlier.counts { difference.counts[name, default: 0] -= count }
        return difference
    }

    /// Returns a counter's value; nil if the server has no such counter.
    subscript(name: String) -> Int? { counts[name] }

    /// Returns a figure of a counter for each of so many things; nil without the counter.
    func figure(_ label: String, _ name: String, per count: Int) -> Figure? {
        self[name].map { Figure(label, Double($0) / Double(count), .ratio) }
    }
}

import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import Synchronization

extension Command {
    private static let maxWait = Setting(
        "STATUS_WAIT", flag: "--wait", .duration(.milliseconds(10)...(.seconds(60))), default: "500ms",
        "How long to wait for replies")

    /// Asks everyone on the bus how they are.
    public static let status = Command(
        name: "status",
        summary: """
            Shows the services and gateways on the bus, one row per instance: queues, and how far it is behind.
            Exit status: 0, or 1 if nobody replied, or 2 if there is no bus.
            """,
        settings: [Setting.bus, Setting.busTokenFile, maxWait], peer: .operator
    ) { configuration, print in
        let reports = Mutex<[StatusReport]>([])
        try await configuration.withBus(name: "parlor-status") { bus in
            try bus.subscribe(Subject.status) { message in
                guard let report = StatusReport(message.data) else { return }
                reports.withLock { $0.append(report) }
            }
        } then: { bus in
            try bus.publish(Subject.statusRequest, JSONValue.emptyObject)
            try await Task.sleep(for: configuration[maxWait])
        }
        let all = reports.withLock { $0 }
        guard !all.isEmpty else {
            print("nobody replied")
            return .found
        }
        for table in StatusTables(all).lines { print(table) }
        return .done
    }

    private static let pattern = Setting(
        "TAIL_SUBJECT", flag: "--subject", .text, default: ">",
        "Subject to show; * matches one token, > the rest")

    /// Shows events as they pass.
    public static let tail = Command(
        name: "tail",
        summary: """
            Shows each event on the bus in one line: time, subject and data. Ends with Ctrl-C.
            It exits with 2 if there is no bus.
            """,
        settings: [Setting.bus, Setting.busTokenFile, pattern], positional: pattern, peer: .operator
    ) { configuration, print in
        try await configuration.withBus(name: "parlor-tail") { bus in
            try bus.subscribe(configuration[pattern]) { message in
                let time = SystemClock().now().iso
                print("\(time) \(message.subject) \(String(decoding: message.data.bytes, as: UTF8.self))")
            }
        } then: { _ in
            while true { try await Task.sleep(for: .seconds(86_400)) }
        }
        return .done
    }
}

/// Formats reports for a terminal: one table for each kind of part, one row for each instance.
struct StatusTables {
    let lines: [String]

    init(_ reports: [StatusReport]) {
        let ends = reports.reduce(into: [String: Int]()) { ends, report in
            for position in report.positions { ends[position.name] = max(ends[position.name] ?? 0, position.value) }
        }
        var kinds: [[String]] = []
        var tables: [[String]: [[String]]] = [:]
        for report in reports.sorted(by: { ($0.part, $0.instance) < ($1.part, $1.instance) }) {
            // The end is the highest reported position, so no difference is negative. Peers may report any numbers, so
            // a difference may exceed `Int.max`.
            let behind = report.positions.map {
                (name: "\($0.name.printable) behind", value: UInt(bitPattern: (ends[$0.name] ?? $0.value) &- $0.value))
            }
            let header = ["part", "instance", "up"] + report.figures.map(\.name.printable) + behind.map(\.name)
            let row =
                [report.part.printable, report.instance.printable, TextTable.time(report.uptime)]
                + report.figures.map { "\($0.value)" } + behind.map { "\($0.value)" }
            if tables[header] == nil { kinds.append(header) }
            tables[header, default: []].append(row)
        }
        lines = kinds.map { TextTable.text([$0] + (tables[$0] ?? []), named: 2) }
    }
}

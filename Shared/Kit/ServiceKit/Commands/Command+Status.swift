import Contracts
import JSON
import MessageBus
import Reactor
import Synchronization

extension Command {
    private static let maxWait = Setting(
        "STATUS_WAIT", flag: "--wait", .duration(.milliseconds(10)...(.seconds(60))), default: "500ms",
        "How long to wait for answers")

    /// Asks everyone on the bus how they are.
    public static let status = Command(
        name: "status",
        summary: """
            Shows the services and gateways on the bus, one row per instance: queues, and how far it is behind.
            Exit status: 0, or 1 if nobody answered, or 2 if there is no bus.
            """,
        settings: [Setting.bus, Setting.busTokenFile, maxWait], peer: .operator
    ) { configuration, print in
        let reports = Mutex<[StatusReport]>([])
        try await onBus(configuration, name: "parlor-status") { bus in
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
            print("nobody answered")
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
        try await onBus(configuration, name: "parlor-tail") { bus in
            try bus.subscribe(configuration[pattern]) { message in
                let time = SystemClock().now().iso
                print("\(time) \(message.subject) \(String(decoding: message.data.bytes, as: UTF8.self))")
            }
        } then: { _ in
            while true { try await Task.sleep(for: .seconds(86_400)) }
        }
        return .done
    }

    /// How long a command waits for the bus: a person is at the other end. A service would wait for as long as it takes.
    private static let busPatience: Duration = .seconds(5)

    private struct NoBus: Error, CustomStringConvertible {
        var description: String { "there is no bus: nothing answered within 5 s" }
    }

    /// Connects to the configured bus for as long as the body runs.
    ///
    /// - Parameter subscribe: called first. When the body begins, the bus knows the subscriptions.
    /// - Throws: `NoBus` if that takes more than `busPatience`.
    private static func onBus(
        _ configuration: Configuration, name: String,
        _ subscribe: @escaping @Sendable (any MessageBus) throws -> Void,
        then body: (any MessageBus) async throws -> Void
    ) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let loop = group.loops[0]
        let bus = try await inTime {
            let bus = try await configuration.connectBus(name: name, on: loop) { warning in
                Program.write("waiting for the bus: \(warning)", to: 2)
            }
            try subscribe(bus)
            try await bus.settle()
            return bus
        }
        try await body(bus)
        await bus.close()
    }

    /// Does not cancel work that is too slow: the process ends with the error.
    private static func inTime(_ work: @escaping @Sendable () async throws -> any MessageBus) async throws
        -> any MessageBus
    {
        let isOver = Mutex(false)
        return try await withCheckedThrowingContinuation { continuation in
            let end = { @Sendable (outcome: Result<any MessageBus, any Error>) in
                let isFirst = isOver.withLock { isOver in
                    defer { isOver = true }
                    return !isOver
                }
                if isFirst { continuation.resume(with: outcome) }
            }
            Task {
                do { end(.success(try await work())) } catch { end(.failure(error)) }
            }
            Task {
                try? await Task.sleep(for: busPatience)  // nobody cancels it
                end(.failure(NoBus()))
            }
        }
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
            let behind = report.positions.map { (name: "\($0.name) behind", value: (ends[$0.name] ?? 0) - $0.value) }
            let header = ["part", "instance", "up"] + report.figures.map(\.name) + behind.map(\.name)
            let row =
                [report.part, report.instance, Self.time(report.uptime)]
                + report.figures.map { "\($0.value)" } + behind.map { "\($0.value)" }
            if tables[header] == nil { kinds.append(header) }
            tables[header, default: []].append(row)
        }
        lines = kinds.map { Self.table([$0] + (tables[$0] ?? [])) }
    }

    private static func table(_ rows: [[String]]) -> String {
        let widths = rows[0].indices.map { column in rows.reduce(0) { max($0, $1[column].count) } }
        return rows.map { row in
            zip(row, widths).enumerated().map { column, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                // Names to the left, numbers to the right.
                return column < 2 ? cell.0 + padding : padding + cell.0
            }.joined(separator: "  ")
        }.joined(separator: "\n") + "\n"
    }

    private static func time(_ duration: Duration) -> String {
        let seconds = Int(duration.components.seconds)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}

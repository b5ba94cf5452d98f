import Glibc
import ParlorReactor
import ParlorTestSupport
import TestClients

/// Measures a running server, prints the table, and fails if a row has a fault.
do {
    // `parlor-bench between SOCKET MICROSECONDS`: what stands between services and a PostgreSQL server for `deploy/bench --rtt`.
    let arguments = CommandLine.arguments
    if arguments.count == 4, arguments[1] == "between", let roundTrip = Int(arguments[3]) {
        let proxy = try PostgresProxy(to: arguments[2], roundTrip: .microseconds(roundTrip))
        Terminal.print("proxy ready 127.0.0.1:\(proxy.port)")
        while true { pause() }
    }
    let options = try BenchOptions(CommandLine.arguments.dropFirst())
    // One loop: the load has one core, and the server the other.
    let group = try EventLoopGroup(loopCount: 1)
    let rows = try await Bench(options, on: group.loops[0]).run { row in
        Terminal.print(ReportTable.lines(of: row))
    }
    group.shutdown()
    if let path = options.jsonPath { try ReportFile.write(rows, commandLine: CommandLine.arguments, to: path) }
    if let path = options.storedPath {
        for warning in try StoredFigures.read(path).warnings(about: rows) { Terminal.complain(warning) }
    }
    if let path = options.storePath { try ReportFile.write(Array(StoredFigures.text(of: rows).utf8), to: path) }
    exit(rows.allSatisfy(\.faults.isEmpty) ? 0 : 1)
} catch let error as BenchOptions.Malformed {
    Terminal.complain("parlor-bench: \(error)\n\n\(BenchOptions.usage)")
    exit(2)
} catch {
    Terminal.complain("parlor-bench: \(error)")
    exit(1)
}

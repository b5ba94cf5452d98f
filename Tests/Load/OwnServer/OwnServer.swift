import Glibc
import ParlorReactor
import ParlorTestSupport
import TestClients

/// A Parlor that the measurement starts and stops itself, on a folder of its own.
final class OwnServer {
    /// The way to start a server.
    struct Program {
        let path: String
        /// The core to run on; nil for any.
        let core: Int?
        /// The parent of the servers' folders, which the caller removes.
        let folder: String

        fileprivate func command(_ arguments: [String]) -> [String] {
            (core.map { ["taskset", "-c", String($0)] } ?? []) + [path] + arguments
        }
    }

    let address: ServerAddress
    /// The time from the start, including the programs that pin it, to the ready line.
    let readyAfter: Duration
    var process: Int { Int(child.id) }

    private let child: ChildProcess
    private let output: NamedPipe

    /// Starts a server on existing data, or on none; returns when it is ready.
    ///
    /// - Parameter name: the name of its folder.
    init(_ program: Program, data name: String) throws {
        let folder = program.folder
        let start = LoopInstant.now()
        (child, output) = try Self.launch(
            program.command([
                "--port", "0", "--data", "\(folder)/\(name)", "--database-url", "sqlite:\(folder)/\(name)/",
            ]),
            in: folder)
        guard let words = output.line()?.split(separator: " "), words.count == 3, words[1] == "ready",
            let address = ServerAddress(url: String(words[2]))
        else { throw ClientError("parlor does not start: see \(folder)/log") }
        readyAfter = LoopInstant.now() - start
        self.address = address
    }

    /// Stops the server, and returns when it has ended.
    func stop() {
        child.signal(SIGTERM)
        Self.waitForEnd(of: child, output)
    }

    /// Returns the time to load the program and print its flags: no start can be shorter.
    static func helpTime(_ program: Program) throws -> Duration {
        let start = LoopInstant.now()
        let (child, output) = try launch(program.command(["--help"]), in: program.folder)
        waitForEnd(of: child, output)
        return LoopInstant.now() - start
    }

    private static func launch(_ command: [String], in folder: String) throws -> (ChildProcess, NamedPipe) {
        mkdir(folder, 0o700)
        let output = try NamedPipe("\(folder)/said")
        let child = try ChildProcess(
            command, environment: ["RATE_LIMITS": "off", "LOG_LEVEL": "warning"], output: output.path,
            log: "\(folder)/log")
        return (child, output)
    }

    private static func waitForEnd(of child: ChildProcess, _ output: NamedPipe) {
        // When the output ends, the program is about to end.
        while output.line() != nil {}
        while child.end() == nil { sched_yield() }
    }
}

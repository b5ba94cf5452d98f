import Glibc
import ParlorTestSupport
import Synchronization

/// A real `nats-server` on loopback. It ends with `stop`, or with this process.
final class NATSServer: Sendable {
    let port: UInt16
    private let process: ChildProcess
    private let ended: Gate

    /// The server shared by all tests that do not stop it; each uses a prefix of its own.
    static let shared = Task { try await NATSServer.start() }
    private static let lastPrefix = Atomic(0)

    private init(port: UInt16, process: ChildProcess, ended: Gate) {
        self.port = port
        self.process = process
        self.ended = ended
    }

    /// - Parameters:
    ///   - port: nil for a free one.
    ///   - settings: other lines of its configuration.
    static func start(port: UInt16? = nil, _ settings: String = "") async throws -> NATSServer {
        let (started, ended) = (Arrivals<Result<(UInt16, ChildProcess), any Error>>(), Gate())
        let watch: @Sendable () -> Void = {
            do {
                try run("host: 127.0.0.1\nport: \(port.map { Int($0) } ?? -1)\n\(settings)\n") {
                    started.add(.success(($0, $1)))
                }
                started.add(.failure(WireError.unexpected("nats-server ended")))
            } catch {
                started.add(.failure(error))
            }
            ended.open()
        }
        // A thread of its own: the process ends with the one that started it.
        try startThread(watch)
        let (port, process) = try await started.next().get()
        return NATSServer(port: port, process: process, ended: ended)
    }

    /// Kills the server without a close, as a failing machine does.
    func stop() async {
        process.signal(SIGKILL)
        await ended.passed()
    }

    func url(_ rest: String = "") -> String { "nats://127.0.0.1:\(port)\(rest)" }

    static func newPrefix() -> String {
        "test-\(lastPrefix.add(1, ordering: .relaxed).newValue)"
    }

    /// Waits for the log until the server has ended. The log names its port.
    private static func run(_ settings: String, _ started: (UInt16, ChildProcess) -> Void) throws {
        var template = Array("/tmp/nats-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw WireError.failed("mkdtemp", errno) }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let (log, configuration) = ("\(folder)/log", "\(folder)/nats.conf")
        func clean() {
            unlink(log)
            unlink(configuration)
            rmdir(folder)
        }
        defer { clean() }
        guard let file = fopen(configuration, "w") else { throw WireError.failed("fopen", errno) }
        fputs(settings, file)
        fclose(file)
        let pipe = try NamedPipe(log)
        let process = try ChildProcess(["nats-server", "-c", configuration], output: "/dev/null", log: pipe.path)
        while let line = pipe.line() {
            let words = line.split(separator: " ")
            guard words.suffix(6).starts(with: ["Listening", "for", "client", "connections", "on"]) else { continue }
            guard let port = words.last?.split(separator: ":").last.flatMap({ UInt16($0) }) else { continue }
            // Open, they serve without their names; and nothing is left of a server that ends with this process.
            clean()
            started(port, process)
        }
        // The end of its log is its end.
        while process.end() == nil { sched_yield() }
    }

    private static func startThread(_ body: @escaping @Sendable () -> Void) throws {
        final class Work: Sendable {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var id = pthread_t()
        let work = Unmanaged.passRetained(Work(body)).toOpaque()
        let code = pthread_create(
            &id, nil,
            { work in
                // Passed below, and never nil.
                Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
                return nil
            }, work)
        guard code == 0 else { throw WireError.failed("pthread_create", code) }
        pthread_detach(id)
    }
}

import Foundation
import ParlorStorage
import Synchronization

/// A PostgreSQL server of this test process, on a unix socket in a temporary folder. It ends with
/// the process.
public final class PostgresServer: Sendable {
    /// The server shared by tests that do not stop it. Created on first use.
    static let shared = Result { try PostgresServer(named: "shared") }

    /// Returns the name of a schema that no other test uses.
    public static func newSchema() -> String { "t" + UUID().uuidString.lowercased().filter { $0 != "-" } }
    /// Returns the name of a schema for the tests that have a folder: the same for the same folder.
    static func schema(of folder: TemporaryFolder) -> String {
        "t" + folder.url.lastPathComponent.lowercased().filter { $0 != "-" }
    }

    public static func url() throws -> PostgresURL { try shared.get().url }

    struct Failure: Error {
        let what: String
    }

    public let url: PostgresURL
    var socketPath: String { "\(folder)/.s.PGSQL.5432" }
    /// The address as a setting's value.
    public let address: String
    private let folder: String

    /// - Parameter name: a short one, as a socket's path has at most 107 bytes.
    public init(named name: String) throws {
        let folder = "/tmp/parlor-pg-\(getpid())-\(name)"
        address = "postgres://postgres@/postgres?host=\(folder)"
        guard let url = PostgresURL(address) else { throw Failure(what: folder) }
        self.folder = folder
        self.url = url
        try run(
            """
            install -d -m 700 \(folder)
            if [ "$(id -u)" = 0 ]; then chown postgres \(folder); fi
            cd \(folder)
            $as "$bin/initdb" -D data -U postgres -A trust -E UTF8 --locale C.UTF-8 --no-sync >/dev/null
            """)
        try start()
        Self.folders.withLock { $0.append(folder) }
        _ = Self.stopAllAtExit
    }

    public func start() throws {
        try run(
            """
            $as "$bin/pg_ctl" -D \(folder)/data -w -l \(folder)/log start -o \
            "-k \(folder) -c listen_addresses= -c fsync=off -c max_connections=400" >/dev/null
            """)
    }

    /// Stops the server as a restart would, without waiting for transactions.
    public func stop() throws { try run("$as \"$bin/pg_ctl\" -D \(folder)/data -w -m fast stop >/dev/null") }

    /// Runs the server's own programs as a user who is not root.
    private func run(_ script: String) throws {
        let preamble = """
            set -e
            bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
            as=; if [ "$(id -u)" = 0 ]; then as="setpriv --reuid postgres --regid postgres --clear-groups"; fi
            cd /tmp

            """
        // Foundation's `Process` would also wait for the end of the server, because the server
        // inherits the pipe.
        guard system(preamble + script) == 0 else { throw Failure(what: "\(folder): \(script)") }
    }

    private static let folders = Mutex<[String]>([])
    private static let stopAllAtExit: Void = {
        atexit {
            for folder in PostgresServer.folders.withLock({ $0 }) { PostgresServer.remove(folder) }
        }
    }()

    private static func remove(_ folder: String) {
        if let text = try? String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8),
            let pid = text.split(separator: "\n").first.flatMap({ pid_t($0) })
        {
            // Stopped immediately, as its data is removed with the folder.
            kill(pid, SIGQUIT)
            // It is not a child of this process, so its end is polled; until then it writes into
            // the folder.
            for _ in 0..<100 where kill(pid, 0) == 0 { usleep(20_000) }
        }
        try? FileManager.default.removeItem(atPath: folder)
    }
}

import Foundation
import Storage

/// A PostgreSQL server of this test process alone: on a unix socket in a temporary folder, and gone with the process.
struct PostgresServer {
    /// Made with the first test that asks.
    static let started = Result { try PostgresServer() }

    private let folder: String

    /// A schema that no other test has.
    static func newSchema() -> String { "t" + UUID().uuidString.lowercased().filter { $0 != "-" } }

    static func url() throws -> PostgresURL {
        let folder = try started.get().folder
        guard let url = PostgresURL("postgres://postgres@/postgres?host=\(folder)") else { throw Failure(what: folder) }
        return url
    }

    struct Failure: Error {
        let what: String
    }

    private init() throws {
        // Short: the path of a socket has at most 107 bytes. And the server's own, who is not root.
        folder = "/tmp/parlor-pg-\(getpid())"
        let script = """
            set -e
            bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
            as=; install -d -m 700 \(folder)
            if [ "$(id -u)" = 0 ]; then chown postgres \(folder); as="setpriv --reuid postgres --regid postgres --clear-groups"; fi
            cd \(folder)
            $as "$bin/initdb" -D data -U postgres -A trust -E UTF8 --locale C.UTF-8 --no-sync >/dev/null
            $as "$bin/pg_ctl" -D data -w -l log start -o "-k \(folder) -c listen_addresses= -c fsync=off -c max_connections=400" >/dev/null
            """
        guard Self.shell(script) == 0 else { throw Failure(what: "PostgreSQL does not start in \(folder)") }
        atexit { PostgresServer.stop() }
    }

    private static func stop() {
        guard let folder = try? started.get().folder,
            let text = try? String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8),
            let pid = text.split(separator: "\n").first.flatMap({ pid_t($0) })
        else { return }
        // At once: what it holds goes with the folder.
        kill(pid, SIGQUIT)
        // It is no child of ours, so its end is looked for; until then it writes into the folder.
        for _ in 0..<100 where kill(pid, 0) == 0 { usleep(20_000) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func shell(_ script: String) -> Int32 {
        // Not Foundation's `Process`, which waits for the server too: it inherits what that learns the end by.
        system(script)
    }
}

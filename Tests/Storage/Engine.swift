import Foundation
import Storage
import TestSupport
import Testing
import Workers

/// The engines that the conformance suite runs on: it knows only what `Database` promises.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case file = "SQLite in a file"
    case temporary = "SQLite without one"
    case postgres = "PostgreSQL"

    var testDescription: String { rawValue }

    func open(
        _ sql: String = "CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER)",
        configuration: DatabaseConfiguration = DatabaseConfiguration(), in folder: TemporaryFolder
    ) throws -> any Database {
        let migrations = [Migration(version: 1, name: "items", sql: sql)]
        switch self {
        case .file:
            return try SQLiteDatabase(
                .file(folder.file("test.db")), migrations: migrations, configuration: configuration)
        case .temporary:
            return try SQLiteDatabase(.temporary, migrations: migrations, configuration: configuration)
        case .postgres:
            return try PostgresDatabase(
                PostgresServer.url(), schema: PostgresServer.newSchema(), migrations: migrations,
                configuration: configuration)
        }
    }
}

extension TemporaryFolder {
    /// The files as a process that died now would leave them.
    func copyAsAfterACrash() throws -> TemporaryFolder {
        let copy = TemporaryFolder()
        for name in ["test.db", "test.db-wal"] where FileManager.default.fileExists(atPath: file(name)) {
            try FileManager.default.copyItem(atPath: file(name), toPath: copy.file(name))
        }
        return copy
    }
}

/// Holds up a thread of a database, so that what comes meanwhile gathers.
final class Gate: Sendable {
    private let queue = BlockingQueue<Bool>(maxCount: 1, maxBytes: 1)

    func pass() { _ = queue.take(atMost: 1) }
    func open() throws { try queue.push(true, bytes: 1) }

    /// `pass` for a task, which must not hold up the thread that it is on.
    func passed() async {
        // It cannot fail: `pass` does not.
        try? await onThread { self.pass() }
    }
}

/// Runs what blocks, which a task must not do on the thread that it is on.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

extension Database {
    func ids() async throws -> [String] {
        try await read { try $0.all("SELECT id FROM items ORDER BY id") { $0.text(0) } }
    }

    func insert(_ id: String) async throws {
        try await write { try $0.execute("INSERT INTO items (id) VALUES ($1)", id) }
    }

    /// Holds up the writer until the gate opens, and returns once it stands there.
    func close(_ gate: Gate) async -> Task<Void, any Error> {
        await held(at: gate) { body in try await write { _ in try body() } }
    }

    /// Holds up a reader until the gate opens, and returns once it stands there.
    func holdReader(at gate: Gate) async -> Task<Void, any Error> {
        await held(at: gate) { body in try await read { _ in try body() } }
    }

    private func held(
        at gate: Gate, by run: @escaping @Sendable (@escaping @Sendable () throws -> Void) async throws -> Void
    ) async -> Task<Void, any Error> {
        let arrived = Gate()
        let task = Task.immediate {
            try await run {
                try arrived.open()
                gate.pass()
            }
        }
        await arrived.passed()
        return task
    }
}

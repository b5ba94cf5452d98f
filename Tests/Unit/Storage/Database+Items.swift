import Foundation
import Storage
import TestSupport

extension TemporaryFolder {
    /// Returns the files as a process that died now would leave them.
    func copyAsAfterACrash() throws -> TemporaryFolder {
        let copy = TemporaryFolder()
        for name in ["test.db", "test.db-wal"] where FileManager.default.fileExists(atPath: file(name)) {
            try FileManager.default.copyItem(atPath: file(name), toPath: copy.file(name))
        }
        return copy
    }
}

extension Database {
    func ids() async throws -> [String] {
        try await read { try $0.all("SELECT id FROM items ORDER BY id") { $0.text(0) } }
    }

    func insert(_ id: String) async throws {
        try await write { try $0.execute("INSERT INTO items (id) VALUES ($1)", id) }
    }
}

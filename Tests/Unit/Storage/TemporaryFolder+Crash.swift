import Foundation
import ParlorTestSupport

extension TemporaryFolder {
    /// Returns the files as a process that died now would leave them.
    func copyAsAfterACrash() throws -> TemporaryFolder {
        let copy = TemporaryFolder()
        let names = ["test.db", "test.db-wal", "test.db-acknowledged"]
        for name in names where FileManager.default.fileExists(atPath: file(name)) {
            try FileManager.default.copyItem(atPath: file(name), toPath: copy.file(name))
        }
        return copy
    }
}

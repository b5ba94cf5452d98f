import Glibc
import ParlorStorage
import Testing

@Suite("A crash point")
struct CrashPointTests {
    @Test("is a place and a count")
    func reading() {
        #expect(CrashPoint("before-commit:1")?.moment == .beforeCommit)
        #expect(CrashPoint("after-publish:37")?.count == 37)
        for text in [
            "", "after-commit", "after-commit:", "after-commit:0", "after-commit:-1", "later:1", "after-commit:1:2",
        ] {
            #expect(CrashPoint(text) == nil)
        }
    }

    /// Writes three times, one after the other.
    private static func write(until point: String) async throws {
        var configuration = DatabaseConfiguration()
        configuration.crashPoint = CrashPoint(point)
        let database = try SQLiteDatabase(
            .temporary, migrations: [Migration(version: 1, name: "items", sql: "CREATE TABLE items (n INTEGER)")],
            configuration: configuration)
        for n in 1...3 { try await database.write { try $0.execute("INSERT INTO items (n) VALUES ($1)", n) } }
        await database.close()
    }

    @Test("ends the process at that commit, as kill -9 would")
    func crashing() async {
        await #expect(processExitsWith: .signal(SIGKILL)) { try await Self.write(until: "before-commit:1") }
        await #expect(processExitsWith: .signal(SIGKILL)) { try await Self.write(until: "after-commit:2") }
        await #expect(processExitsWith: .signal(SIGKILL)) { try await Self.write(until: "after-publish:3") }
    }

    @Test("does nothing if it is never reached")
    func unreached() async throws { try await Self.write(until: "after-commit:4") }
}

import Glibc
import ParlorTestSupport
import Testing

@testable import ParlorServiceKit

@Suite("The lock on a service's data", .timeLimit(.minutes(1)))
struct DataLockTests {
    /// Runs a body with the path of a database in a folder of its own.
    private static func withDatabase(_ body: (String) async throws -> Void) async throws {
        var template = Array("/tmp/parlor-lock-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer {
            unlink("\(folder)/rooms.db.lock")
            rmdir(folder)
        }
        try await body("\(folder)/rooms.db")
    }

    private static func acquire(_ path: String, alone: Bool, maxWait: Duration = .zero) async throws -> DataLock {
        try await DataLock.acquire(path, alone: alone, maxWait: maxWait, log: .silent)
    }

    @Test("several programs on one bus share it; one with its own bus holds it alone")
    func sharing() async throws {
        try await Self.withDatabase { path in
            try await {
                let held = [try await Self.acquire(path, alone: false), try await Self.acquire(path, alone: false)]
                await #expect(throws: DataLockError.inUse(path)) { try await Self.acquire(path, alone: true) }
                withExtendedLifetime(held) {}
            }()
            let alone = try await Self.acquire(path, alone: true)
            for isAlone in [true, false] {
                await #expect(throws: DataLockError.inUse(path)) { try await Self.acquire(path, alone: isAlone) }
            }
            withExtendedLifetime(alone) {}
        }
    }

    @Test("a program that starts while another stops waits until that has ended, and logs once that it waits")
    func waiting() async throws {
        try await Self.withDatabase { path in
            let log = CapturedLog(level: .info)
            var held: DataLock? = try await Self.acquire(path, alone: true)
            let next = Task { try await DataLock.acquire(path, alone: true, maxWait: .seconds(30), log: log.logger) }
            await log.first(1)
            held = nil
            #expect(held == nil)
            _ = try await next.value
            #expect(log.lines.count == 1)
        }
    }

    @Test("a cancelled wait ends")
    func cancelled() async throws {
        try await Self.withDatabase { path in
            let held = try await Self.acquire(path, alone: true)
            let next = Task { try await Self.acquire(path, alone: false, maxWait: .seconds(60)) }
            next.cancel()
            await #expect(throws: CancellationError.self) { try await next.value }
            withExtendedLifetime(held) {}
        }
    }

    @Test("a folder that cannot be written to is named")
    func noPlace() async {
        let error = await #expect(throws: DataLockError.self) {
            try await Self.acquire("/nowhere/rooms.db", alone: true)
        }
        #expect(error?.description == "/nowhere/rooms.db.lock cannot be locked: No such file or directory")
    }
}

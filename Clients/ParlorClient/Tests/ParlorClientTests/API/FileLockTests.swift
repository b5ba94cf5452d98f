import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@Suite("FileLock", .timeLimit(.minutes(1)))
struct FileLockTests {
    private let folder = TemporaryFolder(in: "/dev/shm")

    @Test("concurrent changes of one file are made one after the other")
    func exclusive() async throws {
        let url = folder.url.appending(path: "shared/counter.json")
        let session = Session(
            token: "token", expiresAt: Date(timeIntervalSince1970: 0), refreshToken: "refresh",
            user: Person(id: "ada", username: "ada"))
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    let store = FileSessionStore(url: url)
                    for _ in 0..<25 {
                        try store.exclusively {
                            var kept = try store.load()
                            kept.ending.append(EndingSession(session: session))
                            try store.save(kept)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try FileSessionStore(url: url).load().ending.count == 100)
    }

    @Test("the wait for a lock that is not released ends after two seconds")
    func stuck() async throws {
        let store = FileSessionStore(url: folder.url.appending(path: "sessions.json"))
        let failure = #expect(throws: CocoaError.self) {
            try store.exclusively { try store.exclusively {} }
        }
        #expect(failure?.code == .fileLocking)
        // The lock is free again.
        try store.exclusively {}
    }
}

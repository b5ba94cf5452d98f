import ParlorContracts
import ParlorStorage
import Testing

@testable import ParlorPush

@Suite("Leases", .timeLimit(.minutes(1)))
struct LeaseTests {
    @Test("jobs claimed in an unanswered commit are sent when the lease expires")
    func lostCommit() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.makeDue()
            await #expect(throws: StorageError.self) {
                try await harness.database.forgettingCommit { try await harness.work() }
            }
            #expect(try await harness.jobs().sending == 1)
            #expect(harness.service.worker.results.leases.isEmpty)
            harness.clock.advance(by: .seconds(10))
            try await harness.work()
            #expect(harness.provider.take().count == 1)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("nothing is sent and nothing lost while messaging does not report what is unread")
    func messagingDown() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.makeDue()
            harness.isMessagingDown = true
            await #expect(throws: ServiceError.self) { try await harness.work() }
            try await harness.settle()
            #expect(harness.provider.take().isEmpty)
            harness.isMessagingDown = false
            harness.clock.advance(by: .seconds(1))
            try await harness.work()
            #expect(harness.provider.take().count == 1)
        }
    }

    @Test("another worker takes jobs over when the lease expires, and the first one's results no longer count")
    func leases() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.makeDue()
            let now = harness.clock.now()
            let taken = try await harness.database.write {
                try JobsStore($0).claim(9, in: .production, by: "dead", at: now)
            }
            #expect(taken.count == 1)
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            harness.clock.advance(by: .seconds(10))
            harness.provider.answer(.unanswered(reason: "timeout", detail: ""), for: "token")
            try await harness.work()
            #expect(harness.provider.take().map(\.id) == taken.map(\.job.id))
            try await harness.database.write {
                try JobsStore($0).record(JobResult(claim: taken[0], end: .done), at: now)
            }
            #expect(try await harness.jobs().retrying == 1)
        }
    }

    @Test("a worker does not end its own lease, and one set by a fast clock ends in time")
    func clocks() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.makeDue()
            let now = harness.clock.now()
            let ahead = now.adding(.seconds(3600))
            try await harness.database.write { connection in
                let database = JobsStore(connection)
                _ = try database.claim(9, in: .production, by: "lease", at: now)
                try database.renew(["lease"], at: ahead)
                try database.releaseExpired(at: now)
            }
            #expect(try await harness.jobs().sending == 1)
            harness.clock.advance(by: .seconds(10))
            let then = harness.clock.now()
            try await harness.database.write { try JobsStore($0).releaseExpired(at: then, besides: ["lease"]) }
            #expect(try await harness.jobs().sending == 1)
            try await harness.work()
            #expect(harness.provider.take().count == 1)
        }
    }
}

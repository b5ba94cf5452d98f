import ParlorContracts
import ParlorEventLog
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorPush

/// Each statement runs on both engines, in the order of a long day.
@Suite("On both engines", .timeLimit(.minutes(1)))
struct EngineTests {
    private let folder = TemporaryFolder()

    @Test("devices, jobs, leases and quarantines work", arguments: Engine.lasting)
    func day(engine: Engine) async throws {
        try await PushHarness.serving(on: try engine.open(PushService.migrations, in: folder)) { harness in
            harness.prove()
            try await harness.follow()
            for number in 10..<36 { _ = try await harness.register("device-\(number)", by: PushHarness.eve) }
            #expect(try await harness.devices(of: PushHarness.eve).count == 25)
            for token in ["fine", "busy", "bad", "gone"] { _ = try await harness.register(token) }
            _ = try await harness.register("test", environment: "sandbox")
            harness.provider.answer(.later(reason: "TooManyRequests", after: .seconds(60), of: .device), for: "busy")
            harness.provider.answer(.badToken(reason: "BadDeviceToken"), for: "bad")
            harness.provider.answer(.gone(since: harness.clock.now(), reason: "Unregistered"), for: "gone")

            let id = harness.send()
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            try await harness.work()
            #expect(harness.provider.take().count == 5)
            #expect(try await harness.devices() == ["bad", "busy", "fine", "test"])
            try await harness.service.worker.count()
            #expect(harness.metrics.text().contains(#"parlor_push_jobs{state="retrying"} 1"#))
            #expect(try await harness.jobs().retrying == 1)

            harness.read(id)
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            await #expect(throws: StorageError.self) {
                try await harness.database.forgettingCommit { try await harness.work() }
            }
            harness.clock.advance(by: .seconds(60))
            try await harness.work()
            #expect(harness.provider.take().map(\.kind) == [.badge, .badge, .badge])

            try await harness.database.write { try DevicesStore($0).endQuarantines(except: "another") }
            _ = harness.send()
            try await harness.follow()
            let now = harness.clock.now().adding(.seconds(3))
            try await harness.database.write { connection in
                let database = JobsStore(connection)
                #expect(try database.claim(9, in: .production, by: "lease", at: now).count == 3)
                try database.renew(["lease"], at: now)
                try database.release(["lease"])
                #expect(try database.nextDue(in: .sandbox) == now)
            }
            harness.clock.advance(by: .seconds(86_500))
            try await harness.service.worker.count()
            #expect(try await harness.jobs() == JobCounts())
            try await harness.unregister("fine")
            #expect(try await harness.devices() == ["bad", "busy", "test"])
        }
    }

    @Test(
        "devices from before tokens had one spelling are merged: the last registered stays", arguments: Engine.lasting)
    func spellings(engine: Engine) async throws {
        let old = try engine.open(Array(PushService.migrations.prefix { $0.version < 5 }), in: folder)
        let devices = [
            ("00AB", "ada", 1), ("00ab", "ben", 2), ("00Ab", "cleo", 0), ("FF", "ben", 1), ("Token", "ben", 1),
            ("token", "ben", 1),
        ]
        try await old.write { connection in
            let (store, jobs) = (DevicesStore(connection), JobsStore(connection))
            for (token, person, time) in devices {
                let device = Device(
                    token: DeviceToken(stored: token), userID: person, environment: .production,
                    registeredAt: Timestamp(milliseconds: time))
                #expect(try store.register(device))
                let job = Job(
                    id: "job of \(token)", token: token, userID: person, messageID: "m", roomID: "room", logSeq: 1,
                    senderName: "", sentAt: Timestamp(milliseconds: 1), dueAt: Timestamp(milliseconds: 1))
                try jobs.insert(job, for: (token, "production", job.sentAt, Timestamp(milliseconds: 0)))
            }
        }
        await old.close()
        let new = try engine.open(PushService.migrations, in: folder)
        let kept = try await new.read { connection in
            try connection.all("SELECT d.token, d.user_id, j.id FROM devices d JOIN jobs j ON j.token = d.token") {
                "\($0.text(0)) of \($0.text(1)): \($0.text(2))"
            }
        }
        #expect(
            Set(kept) == [
                "00ab of ben: job of 00ab", "ff of ben: job of FF", "Token of ben: job of Token",
                "token of ben: job of token",
            ])
        let jobs = try await new.read { try $0.first("SELECT count(*) FROM jobs") { $0.int(0) } }
        #expect(jobs == 4)
        await new.close()
    }

    @Test("a database of an earlier version keeps its jobs, their leases and its position", arguments: Engine.lasting)
    func migration(engine: Engine) async throws {
        let old = try engine.open(Array(PushService.migrations.prefix(1)), in: folder)
        try await old.write { connection in
            try connection.execute("INSERT INTO devices VALUES ('token', 'ben', 'ios', 'sandbox', 0, 0, 0)")
            try connection.execute(
                "INSERT INTO jobs VALUES ('job', 'token', 'ben', 'm', 'room', 1, 'Ada', 2, 3, 4, 0, 0, 0, 'worker')")
            try connection.execute("INSERT INTO workers VALUES ('worker', 5)")
            try connection.execute("INSERT INTO cursors VALUES ('messaging', 'database', 7, 8)")
        }
        await old.close()
        let new = try engine.open(PushService.migrations, in: folder)
        let now = Timestamp(milliseconds: 5)
        let claims = try await new.write { connection in
            let database = JobsStore(connection)
            #expect(try database.nextDue(in: .sandbox) == now)
            try database.releaseExpired(at: now)
            return try database.claim(9, in: .sandbox, by: "lease", at: now)
        }
        #expect(claims.map(\.job.id) == ["job"])
        let position = try await new.read { try LogPositionsStore($0).position(in: .messaging) }
        #expect(position == LogPosition(databaseID: "database", seq: 7, digest: 8))
        await new.close()
    }
}

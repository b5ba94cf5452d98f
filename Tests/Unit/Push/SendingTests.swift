import Contracts
import ServiceKit
import Storage
import Testing

@testable import Push

@Suite("Sending", .timeLimit(.minutes(1)))
struct SendingTests {
    /// Makes a message that is due, to Ben's device `token`.
    private func due(_ harness: PushHarness, _ text: String = "hello") async throws -> String {
        try await harness.follow()
        _ = try await harness.register("token")
        let id = harness.send(text)
        try await harness.follow()
        harness.clock.advance(by: .seconds(3))
        return id
    }

    /// Advances the time, and checks that nothing is sent before its end.
    private static func wait(_ time: Duration, _ harness: PushHarness) async throws {
        harness.clock.advance(by: time - .milliseconds(1))
        try await harness.work()
        #expect(harness.provider.take().isEmpty)
        harness.clock.advance(by: .milliseconds(1))
        try await harness.work()
    }

    @Test("a message is held for a while, then sent once")
    func hold() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            _ = try await harness.register("token")
            let id = harness.send("Tea is ready")
            try await harness.follow()
            try await Self.wait(.seconds(3), harness)
            let sent = harness.provider.take()
            #expect(sent.map(\.collapseID) == [id] && sent.first?.kind == .alert)
            #expect(sent.first?.payload["aps"]?["alert"]?["title"]?.string == "ADA · Kitchen")
            #expect(sent.first?.payload["aps"]?["alert"]?["body"]?.string == "Tea is ready")
            #expect(sent.first?.payload["seq"]?.int == 1)
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("a message that was read or deleted meanwhile is not sent", arguments: [true, false])
    func unneeded(isRead: Bool) async throws {
        try await PushHarness.serving { harness in
            let id = try await due(harness)
            if isRead { harness.read(id) } else { harness.delete(id) }
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("the badge is the unread total at the moment of sending")
    func badge() async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            let id = try await due(harness)
            for _ in 1...3 { _ = harness.send() }
            try await harness.work()
            #expect(harness.provider.take().first?.payload["aps"]?["badge"]?.int == 4)
            harness.read(id)
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            try await harness.work()
            let sent = harness.provider.take()
            #expect(sent.filter { $0.kind == .badge }.map(\.payload.text) == [#"{"aps":{"badge":3}}"#])
        }
    }

    @Test("silent updates of a device are 20 s apart, and the last one has the final state")
    func badgeInterval() async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            try await harness.follow()
            _ = try await harness.register("token")
            let ids = (1...2).map { _ in harness.send(to: ["nobody"]) }
            harness.read(ids[0])
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            try await harness.work()
            #expect(harness.provider.take().count == 1)
            harness.read(ids[1])
            try await harness.follow()
            try await Self.wait(.seconds(20), harness)
            #expect(harness.provider.take().count == 1)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("messages read while an update is under way cause another update, 20 s later")
    func overtaken() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            _ = try await harness.register("token")
            harness.read(harness.send(to: ["nobody"]))
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            let now = harness.clock.now()
            let claims = try await harness.database.write {
                try JobsStore($0).claim(9, in: .production, by: "lease", at: now)
            }
            let claim = try #require(claims.first { $0.job.isBadge })
            harness.read(harness.send(to: ["nobody"]))
            try await harness.follow()
            try await harness.database.write {
                try JobsStore($0).record(JobResult(claim: claim, end: .done, badgeSentAt: now), at: now)
            }
            let due = try await harness.database.read { try JobsStore($0).nextDue(in: .production) }
            #expect(due == now.adding(.seconds(20)))
        }
    }

    @Test("a device that changed hands gets nothing of its last owner's")
    func givenAway() async throws {
        try await PushHarness.serving { harness in
            _ = try await due(harness)
            _ = try await harness.register("token", by: PushHarness.eve)
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("a token that the provider ended is removed, unless it was registered again since")
    func gone() async throws {
        try await PushHarness.serving { harness in
            _ = try await due(harness)
            harness.provider.answer(
                .gone(since: harness.clock.now().adding(.seconds(-60)), reason: "Unregistered"), for: "token")
            try await harness.work()
            #expect(try await harness.devices() == ["token"])
            #expect(try await harness.jobs().all == 0)
            _ = harness.send()
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            harness.provider.answer(.gone(since: harness.clock.now(), reason: "Unregistered"), for: "token")
            try await harness.work()
            #expect(try await harness.devices() == [])
        }
    }

    @Test("a bad token is quarantined for a day, and never forgotten; registering it again ends that")
    func quarantine() async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            _ = try await due(harness)
            harness.provider.answer(.badToken(reason: "BadDeviceToken"), for: "token")
            _ = harness.send()
            try await harness.follow()
            try await harness.work()
            #expect(try await harness.devices() == ["token"])
            #expect(try await harness.jobs().all == 0)
            _ = harness.send()
            try await harness.follow()
            #expect(try await harness.jobs().all == 0)
            #expect(try await harness.register("token") == .ok)
            _ = harness.send()
            try await harness.follow()
            #expect(try await harness.jobs().held == 1)
        }
    }

    @Test("bad tokens before a first delivery mean a wrong topic: no device is given up, and it is logged once")
    func wrongTopic() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            let tokens = (10..<30).map { "token-\($0)" }
            for token in tokens {
                _ = try await harness.register(token)
                harness.provider.answer(.badToken(reason: "DeviceTokenNotForTopic"), for: token)
            }
            _ = harness.send()
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            for _ in 1...30 { try await harness.work() }
            #expect(harness.provider.take().count == 5)
            #expect(try harness.health().isFailing)
            #expect(try await harness.jobs().all == 20)
        }
    }

    @Test("a quarantine ends with the settings that caused it")
    func otherSettings() async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            _ = try await due(harness)
            harness.provider.answer(.badToken(reason: "BadDeviceToken"), for: "token")
            try await harness.work()
            try await harness.service.worker.endOthersQuarantines()
            _ = harness.send()
            try await harness.follow()
            #expect(try await harness.jobs().all == 0)
            try await harness.database.write { try DevicesStore($0).endQuarantines(except: "another") }
            _ = harness.send()
            try await harness.follow()
            #expect(try await harness.jobs().held == 1)
        }
    }

    @Test("each of the provider's environments fails separately", arguments: [true, false])
    func environments(isHanging: Bool) async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            try await harness.follow()
            if isHanging { harness.provider.holdBack(.sandbox) }
            for number in 10..<20 {
                _ = try await harness.register("sandbox-\(number)", environment: "sandbox")
                harness.provider.answer(.misconfigured(reason: "BadEnvironmentKeyInToken"), for: "sandbox-\(number)")
            }
            _ = try await harness.register("token")
            for _ in 1...2 {
                _ = harness.send()
                try await harness.follow()
                harness.clock.advance(by: .seconds(3))
                try await harness.takeTurns()
                while try await harness.jobs(for: "token") > 0 {
                    await Task.yield()
                    try await harness.service.worker.results.write()
                }
            }
            #expect(try !harness.health().isFailing && harness.health().allowance(of: 8).count == 8)
            #expect(try isHanging || harness.health(.sandbox).isFailing)
            harness.provider.goOn()
            try await harness.settle()
        }
    }

    @Test("no more is claimed than is sent at once; the rest follows when there is room")
    func portions() async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            try await harness.follow()
            _ = try await harness.register("token")
            let ids = (1...20).map { _ in harness.send() }
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            harness.provider.holdBack(.production)
            for _ in 1...3 { try await harness.takeTurns() }
            while harness.provider.sent < FakeProvider.concurrency { await Task.yield() }
            for id in ids { harness.read(id) }
            harness.provider.goOn()
            try await harness.settle()
            try await harness.work()
            try await harness.work()
            #expect(harness.provider.take().count == FakeProvider.concurrency)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("a device that changes hands while others are asked gets nothing of its last owner's")
    func givenAwayMeanwhile() async throws {
        try await PushHarness.serving { harness in
            _ = try await due(harness)
            harness.whenAsked {
                do { _ = try await harness.register("token", by: PushHarness.eve) } catch { Issue.record(error) }
            }
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("a temporary failure is retried, later each time, and under the same id")
    func retries() async throws {
        try await PushHarness.serving { harness in
            _ = try await due(harness)
            let failure = PushOutcome.later(reason: "InternalServerError", of: .notification)
            harness.provider.answer(failure, failure, for: "token")
            try await harness.work()
            let first = harness.provider.take()
            #expect(try await harness.jobs().retrying == 1)
            harness.clock.advance(by: .milliseconds(499))
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            harness.clock.advance(by: .milliseconds(501))
            try await harness.work()
            #expect(harness.provider.take().map(\.id) == first.map(\.id))
            harness.clock.advance(by: .seconds(2))
            try await harness.work()
            #expect(harness.provider.take().map(\.id) == first.map(\.id))
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("a refusal is final, and no message is sent after a day")
    func finality() async throws {
        try await PushHarness.serving { harness in
            _ = try await due(harness)
            harness.provider.answer(.refused(reason: "PayloadTooLarge"), for: "token")
            try await harness.work()
            #expect(try await harness.jobs().all == 0)
            #expect(harness.provider.take().count == 1)
            _ = harness.send()
            try await harness.follow()
            harness.clock.advance(by: .seconds(86_401))
            try await harness.work()
            #expect(try await harness.jobs().all == 0)
            #expect(harness.provider.take().isEmpty)
        }
    }

    @Test("a wrong setting costs one notification to detect, and loses none")
    func misconfigured() async throws {
        try await PushHarness.serving { harness in
            for _ in 1...5 { _ = try await due(harness) }
            harness.provider.answer(.misconfigured(reason: "InvalidProviderToken"), for: "token")
            for _ in 1...3 { try await harness.work() }
            #expect(harness.provider.take().count == 1)
            #expect(try await harness.jobs().all == 5)
            #expect(try harness.health().isFailing)
        }
    }

    @Test("expired jobs are removed, also while the provider accepts nothing")
    func expiry() async throws {
        try await PushHarness.serving { harness in
            for _ in 1...5 { _ = try await due(harness) }
            harness.provider.answer(.misconfigured(reason: "InvalidProviderToken"), for: "token")
            try await harness.work()
            harness.clock.advance(by: .seconds(86_398))
            _ = harness.send()
            try await harness.follow()
            try await harness.work()
            try await harness.service.worker.count()
            #expect(try await harness.jobs().all == 1)
            #expect(harness.metrics.text().contains(#"parlor_push_dropped_total{reason="expired"} 5"#))
        }
    }

    @Test("a device over its limit is paused with all its jobs; others are not")
    func throttled() async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            try await harness.follow()
            _ = try await harness.register("token")
            _ = harness.send()
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            harness.provider.answer(.later(reason: "TooManyRequests", after: .seconds(60), of: .device), for: "token")
            _ = try await harness.register("other")
            _ = harness.send()
            try await harness.follow()
            try await harness.work()
            harness.clock.advance(by: .seconds(3))
            try await harness.work()
            #expect(harness.provider.take().map(\.device.token.text) == ["token", "other"])
            _ = harness.send()
            try await harness.follow()
            harness.clock.advance(by: .seconds(50))
            try await harness.work()
            #expect(harness.provider.take().map(\.device.token.text) == ["other"])
            harness.clock.advance(by: .seconds(10))
            try await harness.work()
            #expect(harness.provider.take().map(\.device.token.text) == ["token", "token", "token"])
        }
    }

    @Test("a silent update that may have been sent is sent again after 20 s, not before", arguments: [true, false])
    func unansweredBadge(isCrash: Bool) async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            _ = try await harness.register("token")
            harness.read(harness.send(to: ["nobody"]))
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            if isCrash {
                let now = harness.clock.now()
                _ = try await harness.database.write {
                    try JobsStore($0).claim(9, in: .production, by: "lease", at: now)
                }
            } else {
                harness.provider.answer(.unanswered(reason: "timeout", detail: ""), for: "token")
                try await harness.work()
                _ = harness.provider.take()
            }
            harness.clock.advance(by: .milliseconds(19_999))
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            harness.clock.advance(by: .milliseconds(10_001))
            try await harness.work()
            #expect(harness.provider.take().count == 1)
        }
    }

    @Test("a silent update has the age of the last read that it covers")
    func mergedBadge() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            _ = try await harness.register("token")
            for _ in 1...2 {
                harness.read(harness.send(to: ["nobody"]))
                try await harness.follow()
                harness.clock.advance(by: .seconds(50_000))
            }
            try await harness.work()
            #expect(harness.provider.take().map(\.kind) == [.badge])
        }
    }

    @Test("jobs claimed in an unanswered commit are sent when the lease expires")
    func lostCommit() async throws {
        try await PushHarness.serving { harness in
            _ = try await due(harness)
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
    func messagingAway() async throws {
        try await PushHarness.serving { harness in
            _ = try await due(harness)
            harness.isMessagingAway = true
            await #expect(throws: ServiceError.self) { try await harness.work() }
            try await harness.settle()
            #expect(harness.provider.take().isEmpty)
            harness.isMessagingAway = false
            harness.clock.advance(by: .seconds(1))
            try await harness.work()
            #expect(harness.provider.take().count == 1)
        }
    }

    @Test("another worker takes jobs over when the lease expires, and the first one's results no longer count")
    func leases() async throws {
        try await PushHarness.serving { harness in
            _ = try await due(harness)
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
            _ = try await due(harness)
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

    @Test("a device's waiting jobs move along when it changes to the other environment")
    func otherHarness() async throws {
        try await PushHarness.serving { harness in
            _ = try await due(harness)
            _ = try await harness.register("token", environment: "sandbox")
            harness.provider.holdBack(.production)
            try await harness.work()
            #expect(harness.provider.take().map(\.device.environment) == [.sandbox])
        }
    }

    @Test("with the setting off no text is in a payload")
    func preview() async throws {
        try await PushHarness.serving("--push-preview", "off") { harness in
            _ = try await due(harness, "a secret")
            try await harness.work()
            let payload = try #require(harness.provider.take().first?.payload)
            #expect(!payload.text.contains("secret") && payload["aps"]?["alert"]?["body"]?.string == "New message")
        }
    }
}

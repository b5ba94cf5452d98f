import Contracts
import ServiceKit
import Storage
import Testing

@testable import Push

@Suite("Sending", .timeLimit(.minutes(1)))
struct SendingTests {
    /// A message that is due, to Ben's device `token`.
    private func due(_ world: PushWorld, _ text: String = "hello") async throws -> String {
        try await world.follow()
        _ = try await world.register("token")
        let id = world.send(text)
        try await world.follow()
        world.clock.advance(by: .seconds(3))
        return id
    }

    @Test("a message is held for a while, then sent once")
    func hold() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            _ = try await world.register("token")
            let id = world.send("Tea is ready")
            try await world.follow()
            world.clock.advance(by: .milliseconds(2999))
            try await world.work()
            #expect(world.provider.take().isEmpty)
            world.clock.advance(by: .milliseconds(1))
            try await world.work()
            let sent = world.provider.take()
            #expect(sent.map(\.collapseID) == [id] && sent.first?.kind == .alert)
            #expect(sent.first?.payload["aps"]?["alert"]?["title"]?.string == "ADA · Kitchen")
            #expect(sent.first?.payload["aps"]?["alert"]?["body"]?.string == "Tea is ready")
            try await world.work()
            #expect(world.provider.take().isEmpty)
            #expect(try await world.jobs().all == 0)
        }
    }

    @Test("what was read or deleted meanwhile is not sent", arguments: [true, false])
    func unneeded(isRead: Bool) async throws {
        try await PushWorld.serving { world in
            let id = try await due(world)
            if isRead { world.read(id) } else { world.delete(id) }
            try await world.work()
            #expect(world.provider.take().isEmpty)
            #expect(try await world.jobs().all == 0)
        }
    }

    @Test("the badge is what is unread over all, at the moment of sending")
    func badge() async throws {
        try await PushWorld.serving { world in
            world.prove()
            let id = try await due(world)
            for _ in 1...3 { _ = world.send() }
            try await world.work()
            #expect(world.provider.take().first?.payload["aps"]?["badge"]?.int == 4)
            world.read(id)
            try await world.follow()
            world.clock.advance(by: .seconds(3))
            try await world.work()
            let sent = world.provider.take()
            #expect(sent.filter { $0.kind == .badge }.map(\.payload.text) == [#"{"aps":{"badge":3}}"#])
        }
    }

    @Test("silent updates of a device are 20 s apart, and the last one tells how things are in the end")
    func badgeInterval() async throws {
        try await PushWorld.serving { world in
            world.prove()
            try await world.follow()
            _ = try await world.register("token")
            let ids = (1...2).map { _ in world.send(to: ["nobody"]) }
            world.read(ids[0])
            try await world.follow()
            world.clock.advance(by: .seconds(3))
            try await world.work()
            #expect(world.provider.take().count == 1)
            world.read(ids[1])
            try await world.follow()
            world.clock.advance(by: .milliseconds(19_999))
            try await world.work()
            #expect(world.provider.take().isEmpty)
            world.clock.advance(by: .milliseconds(1))
            try await world.work()
            #expect(world.provider.take().count == 1)
            #expect(try await world.jobs().all == 0)
        }
    }

    @Test("what is read while an update is on its way is told by another, 20 s later")
    func overtaken() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            _ = try await world.register("token")
            world.read(world.send(to: ["nobody"]))
            try await world.follow()
            world.clock.advance(by: .seconds(3))
            let now = world.clock.now()
            let claims = try await world.database.write {
                try JobsStore($0).claim(9, in: .production, by: "lease", at: now)
            }
            let claim = try #require(claims.first { $0.job.isBadge })
            world.read(world.send(to: ["nobody"]))
            try await world.follow()
            try await world.database.write {
                try JobsStore($0).record(JobResult(claim: claim, end: .done, badgeSentAt: now), at: now)
            }
            let due = try await world.database.read { try JobsStore($0).nextDue(in: .production) }
            #expect(due == now.adding(.seconds(20)))
        }
    }

    @Test("a device that was given away is sent nothing of its last owner's")
    func givenAway() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            _ = try await world.register("token", by: PushWorld.eve)
            try await world.work()
            #expect(world.provider.take().isEmpty)
            #expect(try await world.jobs().all == 0)
        }
    }

    @Test("a token that is gone is removed, unless it was registered again since")
    func gone() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            world.provider.answer(
                .gone(since: world.clock.now().adding(.seconds(-60)), reason: "Unregistered"), for: "token")
            try await world.work()
            #expect(try await world.devices() == ["token"])
            #expect(try await world.jobs().all == 0)
            _ = world.send()
            try await world.follow()
            world.clock.advance(by: .seconds(3))
            world.provider.answer(.gone(since: world.clock.now(), reason: "Unregistered"), for: "token")
            try await world.work()
            #expect(try await world.devices() == [])
        }
    }

    @Test("a bad token is left alone for a day, and forgotten never; registering it again ends that")
    func quarantine() async throws {
        try await PushWorld.serving { world in
            world.prove()
            _ = try await due(world)
            world.provider.answer(.badToken(reason: "BadDeviceToken"), for: "token")
            _ = world.send()
            try await world.follow()
            try await world.work()
            #expect(try await world.devices() == ["token"])
            #expect(try await world.jobs().all == 0)
            _ = world.send()
            try await world.follow()
            #expect(try await world.jobs().all == 0)
            #expect(try await world.register("token") == .ok)
            _ = world.send()
            try await world.follow()
            #expect(try await world.jobs().held == 1)
        }
    }

    @Test("where nothing was delivered yet, bad tokens are a wrong topic: nobody is given up, and it is said once")
    func wrongTopic() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            let tokens = (10..<30).map { "token-\($0)" }
            for token in tokens {
                _ = try await world.register(token)
                world.provider.answer(.badToken(reason: "DeviceTokenNotForTopic"), for: token)
            }
            _ = world.send()
            try await world.follow()
            world.clock.advance(by: .seconds(3))
            for _ in 1...30 { try await world.work() }
            #expect(world.provider.take().count == 5)
            #expect(try world.health().isFailing)
            #expect(try await world.jobs().all == 20)
        }
    }

    @Test("a quarantine ends with the settings that it came from")
    func otherSettings() async throws {
        try await PushWorld.serving { world in
            world.prove()
            _ = try await due(world)
            world.provider.answer(.badToken(reason: "BadDeviceToken"), for: "token")
            try await world.work()
            try await world.service.worker.endOthersQuarantines()
            _ = world.send()
            try await world.follow()
            #expect(try await world.jobs().all == 0)
            try await world.database.write { try DevicesStore($0).endQuarantines(except: "another") }
            _ = world.send()
            try await world.follow()
            #expect(try await world.jobs().held == 1)
        }
    }

    @Test("each of the provider's worlds fails alone", arguments: [true, false])
    func environments(isHanging: Bool) async throws {
        try await PushWorld.serving { world in
            world.prove()
            try await world.follow()
            if isHanging { world.provider.holdBack(.sandbox) }
            for number in 10..<20 {
                _ = try await world.register("sandbox-\(number)", environment: "sandbox")
                world.provider.answer(.misconfigured(reason: "BadEnvironmentKeyInToken"), for: "sandbox-\(number)")
            }
            _ = try await world.register("token")
            for _ in 1...2 {
                _ = world.send()
                try await world.follow()
                world.clock.advance(by: .seconds(3))
                try await world.takeTurns()
                while try await world.jobs(for: "token") > 0 {
                    await Task.yield()
                    try await world.service.worker.results.write()
                }
            }
            #expect(try !world.health().isFailing && world.health().allowance(of: 8).count == 8)
            #expect(try isHanging || world.health(.sandbox).isFailing)
            world.provider.goOn()
            try await world.settle()
        }
    }

    @Test("no more is handed over than is sent at once; the rest is looked at when there is room")
    func portions() async throws {
        try await PushWorld.serving { world in
            world.prove()
            try await world.follow()
            _ = try await world.register("token")
            let ids = (1...20).map { _ in world.send() }
            try await world.follow()
            world.clock.advance(by: .seconds(3))
            world.provider.holdBack(.production)
            for _ in 1...3 { try await world.takeTurns() }
            while world.provider.sent < FakeProvider.concurrency { await Task.yield() }
            for id in ids { world.read(id) }
            world.provider.goOn()
            try await world.settle()
            try await world.work()
            try await world.work()
            #expect(world.provider.take().count == FakeProvider.concurrency)
            #expect(try await world.jobs().all == 0)
        }
    }

    @Test("a device that changes hands while others are asked is sent nothing of its last owner's")
    func givenAwayMeanwhile() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            world.whenAsked {
                do { _ = try await world.register("token", by: PushWorld.eve) } catch { Issue.record(error) }
            }
            try await world.work()
            #expect(world.provider.take().isEmpty)
            #expect(try await world.jobs().all == 0)
        }
    }

    @Test("what fails for now is tried again, later each time, and under the same id")
    func retries() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            let failure = PushOutcome.later(reason: "InternalServerError", of: .notification)
            world.provider.answer(failure, failure, for: "token")
            try await world.work()
            let first = world.provider.take()
            #expect(try await world.jobs().retrying == 1)
            world.clock.advance(by: .milliseconds(499))
            try await world.work()
            #expect(world.provider.take().isEmpty)
            world.clock.advance(by: .milliseconds(501))
            try await world.work()
            #expect(world.provider.take().map(\.id) == first.map(\.id))
            world.clock.advance(by: .seconds(2))
            try await world.work()
            #expect(world.provider.take().map(\.id) == first.map(\.id))
            #expect(try await world.jobs().all == 0)
        }
    }

    @Test("a refusal is final, and nobody is told of a message after a day")
    func finality() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            world.provider.answer(.refused(reason: "PayloadTooLarge"), for: "token")
            try await world.work()
            #expect(try await world.jobs().all == 0)
            #expect(world.provider.take().count == 1)
            _ = world.send()
            try await world.follow()
            world.clock.advance(by: .seconds(86_401))
            try await world.work()
            #expect(try await world.jobs().all == 0)
            #expect(world.provider.take().isEmpty)
        }
    }

    @Test("a wrong setting is found out with one notification, and nothing is lost for it")
    func misconfigured() async throws {
        try await PushWorld.serving { world in
            for _ in 1...5 { _ = try await due(world) }
            world.provider.answer(.misconfigured(reason: "InvalidProviderToken"), for: "token")
            for _ in 1...3 { try await world.work() }
            #expect(world.provider.take().count == 1)
            #expect(try await world.jobs().all == 5)
            #expect(try world.health().isFailing)
        }
    }

    @Test("what is too old is removed, also while the provider takes nothing")
    func expiry() async throws {
        try await PushWorld.serving { world in
            for _ in 1...5 { _ = try await due(world) }
            world.provider.answer(.misconfigured(reason: "InvalidProviderToken"), for: "token")
            try await world.work()
            world.clock.advance(by: .seconds(86_398))
            _ = world.send()
            try await world.follow()
            try await world.work()
            try await world.service.worker.count()
            #expect(try await world.jobs().all == 1)
            #expect(world.metrics.text().contains(#"parlor_push_dropped_total{reason="expired"} 5"#))
        }
    }

    @Test("a device that gets too much is left alone with all that waits for it; others are not")
    func throttled() async throws {
        try await PushWorld.serving { world in
            world.prove()
            try await world.follow()
            _ = try await world.register("token")
            _ = world.send()
            try await world.follow()
            world.clock.advance(by: .seconds(3))
            world.provider.answer(.later(reason: "TooManyRequests", after: .seconds(60), of: .device), for: "token")
            _ = try await world.register("other")
            _ = world.send()
            try await world.follow()
            try await world.work()
            world.clock.advance(by: .seconds(3))
            try await world.work()
            #expect(world.provider.take().map(\.device.token.text) == ["token", "other"])
            _ = world.send()
            try await world.follow()
            world.clock.advance(by: .seconds(50))
            try await world.work()
            #expect(world.provider.take().map(\.device.token.text) == ["other"])
            world.clock.advance(by: .seconds(10))
            try await world.work()
            #expect(world.provider.take().map(\.device.token.text) == ["token", "token", "token"])
        }
    }

    @Test("a silent update that may have been sent is sent again after 20 s, not before", arguments: [true, false])
    func unansweredBadge(isCrash: Bool) async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            _ = try await world.register("token")
            world.read(world.send(to: ["nobody"]))
            try await world.follow()
            world.clock.advance(by: .seconds(3))
            if isCrash {
                let now = world.clock.now()
                _ = try await world.database.write {
                    try JobsStore($0).claim(9, in: .production, by: "lease", at: now)
                }
            } else {
                world.provider.answer(.unanswered(reason: "timeout", detail: ""), for: "token")
                try await world.work()
                _ = world.provider.take()
            }
            world.clock.advance(by: .milliseconds(19_999))
            try await world.work()
            #expect(world.provider.take().isEmpty)
            world.clock.advance(by: .milliseconds(10_001))
            try await world.work()
            #expect(world.provider.take().count == 1)
        }
    }

    @Test("a silent update is as old as the last reading that it tells of")
    func mergedBadge() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            _ = try await world.register("token")
            for _ in 1...2 {
                world.read(world.send(to: ["nobody"]))
                try await world.follow()
                world.clock.advance(by: .seconds(50_000))
            }
            try await world.work()
            #expect(world.provider.take().map(\.kind) == [.badge])
        }
    }

    @Test("what was taken by a commit that was not answered is sent when its lease is over")
    func lostCommit() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            world.database.forgetNextCommit()
            await #expect(throws: StorageError.self) { try await world.work() }
            #expect(try await world.jobs().sending == 1)
            #expect(world.service.worker.results.leases.isEmpty)
            world.clock.advance(by: .seconds(10))
            try await world.work()
            #expect(world.provider.take().count == 1)
            #expect(try await world.jobs().all == 0)
        }
    }

    @Test("while messaging does not say what is unread, nothing is sent and nothing is lost")
    func messagingAway() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            world.isMessagingAway = true
            await #expect(throws: ServiceError.self) { try await world.work() }
            try await world.settle()
            #expect(world.provider.take().isEmpty)
            world.isMessagingAway = false
            world.clock.advance(by: .seconds(1))
            try await world.work()
            #expect(world.provider.take().count == 1)
        }
    }

    @Test("what a worker had taken is another's when its lease is over, and what it says then counts no more")
    func leases() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            let now = world.clock.now()
            let taken = try await world.database.write {
                try JobsStore($0).claim(9, in: .production, by: "dead", at: now)
            }
            #expect(taken.count == 1)
            try await world.work()
            #expect(world.provider.take().isEmpty)
            world.clock.advance(by: .seconds(10))
            world.provider.answer(.unanswered(reason: "timeout", detail: ""), for: "token")
            try await world.work()
            #expect(world.provider.take().map(\.id) == taken.map(\.job.id))
            try await world.database.write {
                try JobsStore($0).record(JobResult(claim: taken[0], end: .done), at: now)
            }
            #expect(try await world.jobs().retrying == 1)
        }
    }

    @Test("nobody ends a lease of its own, and one by a clock that was ahead ends in time")
    func clocks() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            let now = world.clock.now()
            let ahead = now.adding(.seconds(3600))
            try await world.database.write { connection in
                let database = JobsStore(connection)
                _ = try database.claim(9, in: .production, by: "lease", at: now)
                try database.renew(["lease"], at: ahead)
                try database.releaseExpired(at: now)
            }
            #expect(try await world.jobs().sending == 1)
            world.clock.advance(by: .seconds(10))
            let then = world.clock.now()
            try await world.database.write { try JobsStore($0).releaseExpired(at: then, besides: ["lease"]) }
            #expect(try await world.jobs().sending == 1)
            try await world.work()
            #expect(world.provider.take().count == 1)
        }
    }

    @Test("what waits for a device is taken along when it changes to the other world")
    func otherWorld() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            _ = try await world.register("token", environment: "sandbox")
            world.provider.holdBack(.production)
            try await world.work()
            #expect(world.provider.take().map(\.device.environment) == [.sandbox])
        }
    }

    @Test("with the setting off no text is in a payload")
    func preview() async throws {
        try await PushWorld.serving("--push-preview", "off") { world in
            _ = try await due(world, "a secret")
            try await world.work()
            let payload = try #require(world.provider.take().first?.payload)
            #expect(!payload.text.contains("secret") && payload["aps"]?["alert"]?["body"]?.string == "New message")
        }
    }
}

import Contracts
import ServiceKit
import Storage
import Testing

@testable import Push

@Suite("Sending")
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

    /// Proves the provider, so that many may be under way.
    private func prove(_ world: PushWorld) { world.service.worker.health.note(.delivered) }

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
            prove(world)
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
            prove(world)
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
            let claims = try await world.database.write { connection in
                try PushDatabase(connection).extendLease(of: "w", until: now.adding(.seconds(10)))
                return try PushDatabase(connection).claim(9, for: "w", at: now)
            }
            let claim = try #require(claims.first { $0.job.isBadge })
            world.read(world.send(to: ["nobody"]))
            try await world.follow()
            try await world.database.write {
                try PushDatabase($0).record(
                    JobResult(claim: claim, end: .done, badgeSentAt: now), by: "w", at: now)
            }
            let due = try await world.database.read { try PushDatabase($0).nextDue() }
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

    @Test("what fails for now is tried again, later each time, and under the same id")
    func retries() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            let failure = PushOutcome.later(reason: "InternalServerError", after: nil, isAnswer: true)
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
            #expect(world.service.worker.health.isPaused)
        }
    }

    @Test("while messaging does not say what is unread, nothing is sent and nothing is lost")
    func messagingAway() async throws {
        try await PushWorld.serving { world in
            _ = try await due(world)
            world.isMessagingAway = true
            await #expect(throws: ServiceError.self) { try await world.work() }
            await world.service.worker.settle()
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
            let taken = try await world.database.write { connection in
                try PushDatabase(connection).extendLease(of: "dead", until: now.adding(.seconds(10)))
                return try PushDatabase(connection).claim(9, for: "dead", at: now)
            }
            #expect(taken.count == 1)
            try await world.work()
            #expect(world.provider.take().isEmpty)
            world.clock.advance(by: .seconds(10))
            world.provider.answer(.later(reason: "timeout", after: nil, isAnswer: false), for: "token")
            try await world.work()
            #expect(world.provider.take().map(\.id) == taken.map(\.job.id))
            try await world.database.write {
                try PushDatabase($0).record(JobResult(claim: taken[0], end: .done), by: "dead", at: now)
            }
            #expect(try await world.jobs().retrying == 1)
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

import Testing

@testable import ParlorPush

@Suite("Sending", .timeLimit(.minutes(1)))
struct SendingTests {
    @Test("a message is held for a while, then sent once")
    func hold() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            _ = try await harness.register("token")
            let id = harness.send("Tea is ready")
            try await harness.follow()
            try await harness.expectNothing(for: .seconds(3))
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
            let id = try await harness.makeDue()
            if isRead { harness.read(id) } else { harness.delete(id) }
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("a device that changed hands gets nothing of its last owner's")
    func givenAway() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.makeDue()
            _ = try await harness.register("token", by: PushHarness.eve)
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            #expect(try await harness.jobs().all == 0)
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
            _ = try await harness.makeDue()
            harness.whenAsked {
                do { _ = try await harness.register("token", by: PushHarness.eve) } catch { Issue.record(error) }
            }
            try await harness.work()
            #expect(harness.provider.take().isEmpty)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("a device's waiting jobs move along when it changes to the other environment")
    func otherHarness() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.makeDue()
            _ = try await harness.register("token", environment: "sandbox")
            harness.provider.holdBack(.production)
            try await harness.work()
            #expect(harness.provider.take().map(\.device.environment) == [.sandbox])
        }
    }

    @Test("with the setting off no text is in a payload")
    func preview() async throws {
        try await PushHarness.serving("--push-preview", "off") { harness in
            _ = try await harness.makeDue("a secret")
            try await harness.work()
            let payload = try #require(harness.provider.take().first?.payload)
            #expect(!payload.text.contains("secret") && payload["aps"]?["alert"]?["body"]?.string == "New message")
        }
    }
}

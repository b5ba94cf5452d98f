import Testing

@testable import ParlorPush

@Suite("Silent updates", .timeLimit(.minutes(1)))
struct BadgeTests {
    @Test("the badge is the unread total at the moment of sending")
    func badge() async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            let id = try await harness.makeDue()
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

    @Test("whoever had not read a message that is deleted gets the new badge, and nobody else does")
    func deleted() async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            let id = try await harness.makeDue()
            try await harness.work()
            #expect(harness.provider.take().map(\.payload["aps"]?["badge"]?.int) == [1])
            _ = try await harness.register("hers", by: PushHarness.ada)
            harness.delete(id)
            harness.delete(id)
            try await harness.follow()
            harness.clock.advance(by: .seconds(20))
            try await harness.work()
            #expect(harness.provider.take().map(\.payload.text) == [#"{"aps":{"badge":0}}"#])
        }
    }

    @Test("the last owner's silent update does not stand in for the new owner's")
    func changedHands() async throws {
        try await PushHarness.serving { harness in
            harness.prove()
            try await harness.follow()
            _ = try await harness.register("token")
            let (his, hers) = (harness.send(to: ["nobody"]), harness.send(to: ["nobody"]))
            harness.read(his)
            try await harness.follow()
            _ = try await harness.register("token", by: PushHarness.eve)
            harness.read(hers, by: PushHarness.eve)
            try await harness.follow()
            harness.clock.advance(by: .seconds(3))
            try await harness.work()
            #expect(harness.provider.take().map(\.kind) == [.badge])
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
            try await harness.expectNothing(for: .seconds(20))
            #expect(harness.provider.take().count == 1)
            #expect(try await harness.jobs().all == 0)
        }
    }

    @Test("messages read while an update is in progress cause another update, 20 s later")
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
}

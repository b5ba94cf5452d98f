import Testing

@testable import ParlorPush

@Suite("The provider's answers", .timeLimit(.minutes(1)))
struct ProviderAnswerTests {
    @Test("a token that the provider ended is removed, unless it was registered again since")
    func gone() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.makeDue()
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
            _ = try await harness.makeDue()
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
            _ = try await harness.makeDue()
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

    @Test("a temporary failure is retried, later each time, and under the same id")
    func retries() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.makeDue()
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
            _ = try await harness.makeDue()
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
            for _ in 1...5 { _ = try await harness.makeDue() }
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
            for _ in 1...5 { _ = try await harness.makeDue() }
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
}

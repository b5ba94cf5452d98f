import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Testing

/// The promises of every bus. A new bus is added to `BusKind`.
@Suite("every bus: requests", .timeLimit(.minutes(1)))
struct RequestConformanceTests {
    @Test("a request gets its reply, and its context arrives with it", arguments: BusKind.allCases)
    func request(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let server = try await fabric.client()
            let client = try await fabric.client()
            let seen = Arrivals<BusContext>()
            try server.respond(to: "rooms.*", queue: "rooms") { request in
                seen.add(request.context)
                #expect(request.remaining > .zero)
                request.reply(
                    JSONWriter.value { $0.array(of: [request.subject, request.data.text]) { $0.string($1) } })
                request.reply(JSONValue.null)
            }
            try await server.flush()
            let context = BusContext(
                requestID: "r \"1\"", caller: try JSONValue(parsing: #"{"id":"u1","name":"J. \"}"}"#),
                timeout: .seconds(10), key: "room\\1", trace: "00-é-01")
            let reply = try await client.request("rooms.rename", JSONValue("x"), context)
            #expect(reply.json.text == #"["rooms.rename","\"x\""]"#)
            let got = try await seen.next()
            #expect(got.requestID == context.requestID)
            #expect(got.caller == context.caller)
            #expect(got.key == context.key)
            #expect(got.trace == context.trace)
            #expect(got.timeout <= context.timeout && got.timeout > .seconds(5))
            // Omitted members stay omitted.
            _ = try await client.request("rooms.list", .null, BusContext(requestID: "r2"))
            let bare = try await seen.next()
            #expect(bare.caller == nil && bare.key == nil && bare.trace == nil && bare.requestID == "r2")
        }
    }

    @Test("many requests at once each get their own reply", arguments: BusKind.allCases)
    func concurrency(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let server = try await fabric.client()
            try server.respond(to: "double", queue: "doublers") { $0.reply(JSONValue(($0.data.int ?? 0) * 2)) }
            try await server.flush()
            let client = try await fabric.client()
            try await withThrowingTaskGroup(of: Bool.self) { tasks in
                for number in 0..<500 {
                    tasks.addTask {
                        try await client.request("double", JSONValue(number), .test()).json.int == number * 2
                    }
                }
                for try await isRight in tasks { #expect(isRight) }
            }
        }
    }

    @Test(
        "a request without a server fails at once, even if an event subscriber is there", arguments: BusKind.allCases)
    func noResponders(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            try bus.subscribe(">") { Issue.record("a request came as an event: \($0)") }
            try bus.subscribe(">", queue: "q") { Issue.record("a request came as an event: \($0)") }
            // A deadline that no test waits for: the answer does not come by time-out.
            await #expect(throws: BusError.noResponders) {
                try await bus.request("rooms.rename", .null, .test(timeout: .seconds(3000)))
            }
            let service = try bus.respond(to: "rooms.rename", queue: "rooms") { $0.reply(JSONValue.null) }
            _ = try await bus.request("rooms.rename", .null, .test())
            service.cancel()
            await #expect(throws: BusError.noResponders) { try await bus.request("rooms.rename", .null, .test()) }
        }
    }

    @Test("a request without a reply ends at its deadline, and a late reply is dropped", arguments: BusKind.allCases)
    func deadline(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let server = try await fabric.client()
            let kept = Arrivals<BusRequest>()
            try server.respond(to: "slow", queue: "slow") { kept.add($0) }
            try server.respond(to: "quick", queue: "quick") { $0.reply(JSONValue(2)) }
            try await server.flush()
            let client = try await fabric.client()
            let start = ContinuousClock.now
            await #expect(throws: BusError.deadlineExceeded) {
                try await client.request("slow", .null, .test(timeout: .milliseconds(40)))
            }
            #expect(start.duration(to: .now) >= .milliseconds(40))
            let late = try await kept.next()
            #expect(late.remaining < .milliseconds(40))
            late.reply(JSONValue(1))
            #expect(try await client.request("quick", .null, .test()).json.int == 2)
        }
    }

    @Test("instances of a service share requests; when one leaves, the others get them", arguments: BusKind.allCases)
    func sharing(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let client = try await fabric.client()
            var instances: [BusSubscription] = []
            for instance in 0..<3 { instances.append(try await fabric.instance(instance)) }
            var answers: [Int?] = []
            for _ in 0..<30 { answers.append(try await client.request("who", .null, .test()).json.int) }
            #expect(Set(answers) == [0, 1, 2])
            instances[1].cancel()
            // Its own word on the way may still take one; then nothing comes to it any more.
            try await fabric.untilGone(1, client)
            answers = []
            for _ in 0..<30 { answers.append(try await client.request("who", .null, .test()).json.int) }
            #expect(Set(answers) == [0, 2])
        }
    }

    @Test(
        "a key selects the same instance while membership lasts; when one leaves only its keys move, and spread",
        arguments: BusKind.keepingKeys)
    func affinity(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let client = try await fabric.client()
            var instances: [BusSubscription] = []
            for instance in 0..<4 { instances.append(try await fabric.instance(instance)) }
            func responders() async throws -> [Int] {
                var responders: [Int] = []
                for key in 0..<120 {
                    let reply = try await client.request("who", .null, .test(key: "room-\(key)"))
                    responders.append(try #require(reply.json.int))
                }
                return responders
            }
            let before = try await responders()
            #expect(Set(before) == [0, 1, 2, 3])
            #expect(try await responders() == before)

            instances[2].cancel()
            try await fabric.untilGone(2, client)
            let after = try await responders()
            for (old, new) in zip(before, after) where old != 2 { #expect(old == new) }
            #expect(Set(zip(before, after).filter { $0.0 == 2 }.map(\.1)) == [0, 1, 3])

            _ = try await fabric.instance(4)
            let joined = try await responders()
            for (old, new) in zip(after, joined) where new != 4 { #expect(old == new) }
            #expect(joined.contains(4))
        }
    }
}

extension BusFabric {
    /// Subscribes a service that answers which instance it is.
    func instance(_ number: Int) async throws -> BusSubscription {
        let client = try await client("instance-\(number)")
        let subscription = try client.respond(to: "who", queue: "q") { $0.reply(JSONValue(number)) }
        try await client.flush()
        return subscription
    }

    /// Waits until an instance gets no more requests: while it is there, it gets one of four.
    func untilGone(_ number: Int, _ client: any MessageBus) async throws {
        var streak = 0
        while streak < 10 {
            do throws(BusError) {
                streak = try await client.request("who", .null, .test()).json.int == number ? 0 : streak + 1
            } catch .noResponders {
                // On its way when it was cancelled, and given back.
                streak = 0
            }
        }
    }
}

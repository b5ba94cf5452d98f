import JSON
import MessageBus
import Synchronization
import Testing

/// What every bus promises. A bus that is added is added to `BusKind`.
@Suite("every bus", .timeLimit(.minutes(1)))
struct BusConformanceTests {
    // MARK: Events

    @Test("an event reaches everyone whose pattern matches, and nobody else", arguments: BusKind.allCases)
    func wildcards(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let subscriber = try await fabric.client()
            let publisher = try await fabric.client()
            let arrivals = Arrivals<String>()
            for pattern in ["rooms.renamed", "rooms.*", "rooms.>", "*.renamed", "rooms", "*", "rooms.renamed.*"] {
                try subscriber.subscribe(pattern) { arrivals.add("\(pattern): \($0.subject) \($0.data)") }
            }
            // The last to hear of an event: once it has the last one, the others have all of theirs.
            let all = Arrivals<String>()
            try subscriber.subscribe(">") { all.add($0.subject) }
            try await subscriber.flush()
            for (number, subject) in ["rooms.renamed", "rooms.a.b", "rooms", "others.more"].enumerated() {
                try publisher.publish(subject, JSONValue(number))
            }
            #expect(await all.next(4) == ["rooms.renamed", "rooms.a.b", "rooms", "others.more"])
            arrivals.add("end")
            let expected = [
                "rooms.renamed: rooms.renamed 0", "rooms.*: rooms.renamed 0", "rooms.>: rooms.renamed 0",
                "*.renamed: rooms.renamed 0", "rooms.>: rooms.a.b 1", "rooms: rooms 2", "*: rooms 2", "end",
            ]
            #expect(await arrivals.next(expected.count) == expected)
        }
    }

    @Test("events of one publisher on one subject arrive in the order they were sent", arguments: BusKind.allCases)
    func order(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let subscriber = try await fabric.client()
            let publisher = try await fabric.client()
            let arrivals = Arrivals<Int?>()
            try subscriber.subscribe("numbers.*") { arrivals.add($0.data.int) }
            try await subscriber.flush()
            for number in 0..<20_000 { try publisher.publish("numbers.all", JSONValue(number)) }
            #expect(await arrivals.next(20_000) == (0..<20_000).map { $0 })
        }
    }

    @Test("data arrives as the bytes it was sent in", arguments: BusKind.allCases)
    func faithfulness(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            let arrivals = Arrivals<JSONValue>()
            try bus.subscribe("texts") { arrivals.add($0.data) }
            try bus.respond(to: "echo", queue: "echo") { $0.reply($0.data) }
            try await bus.flush()
            let texts = [
                #"{"data":{"data":"}\"},\u0000"},"op":"err"}"#, #""quote \" brace } 🎉""#,
                "123456789012345678901234567890",
                "[ 1 , 2 ]", "null", "true", "{}", "[]", #""""#,
            ]
            for text in texts {
                let value = try JSONValue(parsing: text)
                try bus.publish("texts", value)
                #expect(await arrivals.next() == value)
                #expect(try await bus.request("echo", value, .test()) == value)
            }
        }
    }

    @Test("subscriptions of one queue share the events, and each event goes to one", arguments: BusKind.allCases)
    func queues(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let arrivals = Arrivals<(member: Int, number: Int?)>()
            let others = Arrivals<Int?>()
            for member in 0..<3 {
                let client = try await fabric.client("member-\(member)")
                try client.subscribe("work.*", queue: "workers") { arrivals.add((member, $0.data.int)) }
                try await client.flush()
            }
            let other = try await fabric.client()
            try other.subscribe("work.*", queue: "others") { others.add($0.data.int) }
            try await other.flush()
            let publisher = try await fabric.client()
            for number in 0..<300 { try publisher.publish("work.some", JSONValue(number)) }
            let got = await arrivals.next(300)
            #expect(got.compactMap(\.number).sorted() == Array(0..<300))
            #expect(Set(got.map(\.member)) == [0, 1, 2])
            #expect(await others.next(300) == (0..<300).map { $0 })
        }
    }

    @Test("a subscription that is cancelled hears nothing more", arguments: BusKind.allCases)
    func unsubscribe(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            let arrivals = Arrivals<String>()
            let first = try bus.subscribe("a") { arrivals.add("first \($0.data)") }
            try bus.subscribe("a") { arrivals.add("second \($0.data)") }
            try bus.publish("a", JSONValue(1))
            #expect(await arrivals.next(2) == ["first 1", "second 1"])
            first.cancel()
            first.cancel()
            try bus.publish("a", JSONValue(2))
            #expect(await arrivals.next() == "second 2")
            try bus.publish("a", JSONValue(3))
            #expect(await arrivals.next() == "second 3")
        }
    }

    // MARK: Requests

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
                request.reply(.null)
            }
            try await server.flush()
            let context = BusContext(
                requestID: "r \"1\"", caller: try JSONValue(parsing: #"{"id":"u1","name":"J. \"}"}"#),
                timeout: .seconds(10), key: "room\\1", trace: "00-é-01")
            let reply = try await client.request("rooms.rename", JSONValue("x"), context)
            #expect(reply.text == #"["rooms.rename","\"x\""]"#)
            let got = try #require(await seen.next())
            #expect(got.requestID == context.requestID)
            #expect(got.caller == context.caller)
            #expect(got.key == context.key)
            #expect(got.trace == context.trace)
            #expect(got.timeout <= context.timeout && got.timeout > .seconds(5))
            // What was left out stays out.
            _ = try await client.request("rooms.list", .null, BusContext(requestID: "r2"))
            let bare = try #require(await seen.next())
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
                    tasks.addTask { try await client.request("double", JSONValue(number), .test()).int == number * 2 }
                }
                for try await isRight in tasks { #expect(isRight) }
            }
        }
    }

    @Test(
        "a request that nobody serves fails at once, also with an event subscriber there", arguments: BusKind.allCases)
    func noResponders(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            try bus.subscribe(">") { Issue.record("a request came as an event: \($0)") }
            try bus.subscribe(">", queue: "q") { Issue.record("a request came as an event: \($0)") }
            // A deadline that no test waits for: the answer does not come by time-out.
            await #expect(throws: BusError.noResponders) {
                try await bus.request("rooms.rename", .null, .test(timeout: .seconds(3000)))
            }
            let service = try bus.respond(to: "rooms.rename", queue: "rooms") { $0.reply(.null) }
            _ = try await bus.request("rooms.rename", .null, .test())
            service.cancel()
            await #expect(throws: BusError.noResponders) { try await bus.request("rooms.rename", .null, .test()) }
        }
    }

    @Test("a reply that does not come ends by the deadline, and a late one is dropped", arguments: BusKind.allCases)
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
            let late = try #require(await kept.next())
            #expect(late.remaining < .milliseconds(40))
            late.reply(JSONValue(1))
            #expect(try await client.request("quick", .null, .test()).int == 2)
        }
    }

    @Test("instances of a service share requests; one that goes leaves them to the others", arguments: BusKind.allCases)
    func sharing(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let client = try await fabric.client()
            var instances: [BusSubscription] = []
            for instance in 0..<3 { instances.append(try await fabric.instance(instance)) }
            var answers: [Int?] = []
            for _ in 0..<30 { answers.append(try await client.request("who", .null, .test()).int) }
            #expect(Set(answers) == [0, 1, 2])
            instances[1].cancel()
            // Its own word on the way may still take one; then nothing comes to it any more.
            try await fabric.untilGone(1, client)
            answers = []
            for _ in 0..<30 { answers.append(try await client.request("who", .null, .test()).int) }
            #expect(Set(answers) == [0, 2])
        }
    }

    @Test(
        "a key finds the same instance while membership lasts; when one goes only its keys move, and spread",
        arguments: BusKind.allCases)
    func affinity(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let client = try await fabric.client()
            var instances: [BusSubscription] = []
            for instance in 0..<4 { instances.append(try await fabric.instance(instance)) }
            func places() async throws -> [Int] {
                var places: [Int] = []
                for key in 0..<120 {
                    let reply = try await client.request("who", .null, .test(key: "room-\(key)"))
                    places.append(try #require(reply.int))
                }
                return places
            }
            let before = try await places()
            #expect(Set(before) == [0, 1, 2, 3])
            #expect(try await places() == before)

            instances[2].cancel()
            try await fabric.untilGone(2, client)
            let after = try await places()
            for (old, new) in zip(before, after) where old != 2 { #expect(old == new) }
            #expect(Set(zip(before, after).filter { $0.0 == 2 }.map(\.1)) == [0, 1, 3])

            _ = try await fabric.instance(4)
            let joined = try await places()
            for (old, new) in zip(after, joined) where new != 4 { #expect(old == new) }
            #expect(joined.contains(4))
        }
    }

    // MARK: Limits and the end

    @Test(
        "what is no subject, pattern or queue is refused", arguments: BusKind.allCases,
        [
            "", ".", "a.", ".a", "a..b", "A", "a b", "a*", "a.*", ">", "a.>.b", "ä", "a\n",
            String(repeating: "a", count: 256),
        ])
    func badSubjects(kind: BusKind, subject: String) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            #expect(throws: BusError.badSubject) { try bus.publish(subject, .null) }
            await #expect(throws: BusError.badSubject) { try await bus.request(subject, .null, .test()) }
            #expect(throws: BusError.badSubject) { try bus.subscribe("a", queue: subject) { _ in } }
            #expect(throws: BusError.badSubject) { try bus.respond(to: "a", queue: subject) { _ in } }
            guard !["a.*", ">"].contains(subject) else { return }
            #expect(throws: BusError.badSubject) { try bus.subscribe(subject) { _ in } }
            #expect(throws: BusError.badSubject) { try bus.respond(to: subject, queue: "q") { _ in } }
        }
    }

    @Test("the longest line goes through, and one byte more is refused, in each direction", arguments: BusKind.allCases)
    func longLines(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            let arrivals = Arrivals<Int>()
            try bus.subscribe("big") { arrivals.add($0.data.bytes.count) }
            try bus.respond(to: "measure", queue: "q") { $0.reply(JSONValue($0.data.bytes.count)) }
            try bus.respond(to: "grow", queue: "q") { $0.reply(Self.text(bytes: $0.data.int ?? 0)) }
            try await bus.flush()

            let largest = BusLimits.maxPassedOnLine - #"{"op":"pub","subject":"big","data":}"#.utf8.count - 1
            try bus.publish("big", Self.text(bytes: largest))
            #expect(await arrivals.next() == largest)
            #expect(throws: BusError.lineTooLong) { try bus.publish("big", Self.text(bytes: largest + 1)) }

            let request = BusLimits.maxPassedOnLine - 200
            #expect(try await bus.request("measure", Self.text(bytes: request), .test()).int == request)
            await #expect(throws: BusError.lineTooLong) {
                try await bus.request("measure", Self.text(bytes: BusLimits.maxPassedOnLine), .test())
            }
            #expect(try await bus.request("grow", JSONValue(request), .test()).bytes.count == request)
            await #expect(throws: BusError.lineTooLong) {
                try await bus.request("grow", JSONValue(BusLimits.maxPassedOnLine), .test())
            }
        }
    }

    private static func text(bytes count: Int) -> JSONValue {
        JSONValue(trusted: Array("\"\(String(repeating: "x", count: count - 2))\"".utf8))
    }

    @Test("closing takes no new request, lets those under way finish, and ends the bus", arguments: BusKind.allCases)
    func drain(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let server = try await fabric.client()
            let client = try await fabric.client()
            let kept = Arrivals<BusRequest>()
            try server.respond(to: "work", queue: "q") { request in
                if request.data.isNull { request.reply(.null) } else { kept.add(request) }
            }
            try await server.flush()
            async let answer = client.request("work", JSONValue("first"), .test())
            let underWay = try #require(await kept.next())

            let isClosed = Atomic(false)
            let closing = Task {
                await server.close()
                isClosed.store(true, ordering: .sequentiallyConsistent)
            }
            var refusal: BusError?
            while refusal == nil {
                do throws(BusError) { _ = try await client.request("work", .null, .test()) } catch { refusal = error }
                // The task that closes needs a thread, too.
                await Task.yield()
            }
            // One bus in one process is closed for those who ask, too.
            #expect(refusal == (kind == .inProcess ? .disconnected : .noResponders))
            let closedEarly = isClosed.load(ordering: .sequentiallyConsistent)
            #expect(!closedEarly)

            underWay.reply(JSONValue("done"))
            #expect(try await answer == JSONValue("done"))
            await closing.value
            await server.close()
            #expect(!server.isConnected)
            await #expect(throws: BusError.disconnected) { try await server.request("work", .null, .test()) }
            await #expect(throws: BusError.disconnected) { try await server.flush() }
            try server.publish("work.done", .null)
        }
    }

    @Test("a handler may use the bus it is called by", arguments: BusKind.allCases)
    func reentrancy(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            let arrivals = Arrivals<Int?>()
            try bus.respond(to: "inner", queue: "q") { $0.reply(JSONValue(($0.data.int ?? 0) + 1)) }
            try bus.respond(to: "outer", queue: "q") { [bus] request in
                bus.request("inner", request.data, request.context) { result in
                    if case .success(let data) = result { request.reply(data) }
                }
            }
            let subscription = Mutex<BusSubscription?>(nil)
            let added = try bus.subscribe("once") { [bus] _ in
                subscription.withLock { $0 }?.cancel()
                bus.request("outer", JSONValue(1), .test()) { result in
                    if case .success(let data) = result { arrivals.add(data.int) }
                }
            }
            subscription.withLock { $0 = added }
            try await bus.flush()
            try bus.publish("once", .null)
            #expect(await arrivals.next() == 2)
        }
    }
}

extension BusFabric {
    /// A service that says which instance it is.
    func instance(_ number: Int) async throws -> BusSubscription {
        let client = try await client("instance-\(number)")
        let subscription = try client.respond(to: "who", queue: "q") { $0.reply(JSONValue(number)) }
        try await client.flush()
        return subscription
    }

    /// Returns when an instance gets none of the requests any more: with it there, it gets one of four.
    func untilGone(_ number: Int, _ client: any MessageBus) async throws {
        var streak = 0
        while streak < 10 {
            streak = try await client.request("who", .null, .test()).int == number ? 0 : streak + 1
        }
    }
}

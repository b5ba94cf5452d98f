import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Synchronization
import Testing

/// The promises of every bus. A new bus is added to `BusKind`.
@Suite("every bus: limits and the end", .timeLimit(.minutes(1)))
struct LimitConformanceTests {
    @Test(
        "an invalid subject, pattern or queue is refused", arguments: BusKind.allCases,
        [
            "", ".", "a.", ".a", "a..b", "A", "a b", "a*", "a.*", ">", "a.>.b", "ä", "a\n",
            String(repeating: "a", count: 256),
        ])
    func badSubjects(kind: BusKind, subject: String) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            #expect(throws: BusError.badSubject) { try bus.publish(subject, JSONValue.null) }
            await #expect(throws: BusError.badSubject) { try await bus.request(subject, .null, .test()) }
            #expect(throws: BusError.badSubject) { try bus.subscribe("a", queue: subject) { _ in } }
            #expect(throws: BusError.badSubject) { try bus.respond(to: "a", queue: subject) { _ in } }
            guard !["a.*", ">"].contains(subject) else { return }
            #expect(throws: BusError.badSubject) { try bus.subscribe(subject) { _ in } }
            #expect(throws: BusError.badSubject) { try bus.respond(to: subject, queue: "q") { _ in } }
        }
    }

    @Test("the longest line passes, and one byte more is refused, in each direction", arguments: BusKind.allCases)
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
            #expect(try await arrivals.next() == largest)
            #expect(throws: BusError.lineTooLong) { try bus.publish("big", Self.text(bytes: largest + 1)) }

            let request = BusLimits.maxPassedOnLine - 200
            #expect(try await bus.request("measure", Self.text(bytes: request), .test()).json.int == request)
            await #expect(throws: BusError.lineTooLong) {
                try await bus.request("measure", Self.text(bytes: BusLimits.maxPassedOnLine), .test())
            }
            #expect(try await bus.request("grow", JSONValue(request), .test()).json.bytes.count == request)
            await #expect(throws: BusError.lineTooLong) {
                try await bus.request("grow", JSONValue(BusLimits.maxPassedOnLine), .test())
            }
        }
    }

    private static func text(bytes count: Int) -> JSONValue {
        JSONValue(trusted: Array("\"\(String(repeating: "x", count: count - 2))\"".utf8))
    }

    @Test("closing refuses new requests, lets open ones finish, and ends the bus", arguments: BusKind.allCases)
    func drain(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let server = try await fabric.client()
            let client = try await fabric.client()
            let kept = Arrivals<BusRequest>()
            try server.respond(to: "work", queue: "q") { request in
                if request.data.isNull { request.reply(JSONValue.null) } else { kept.add(request) }
            }
            try await server.flush()
            async let answer = client.request("work", JSONValue("first"), .test())
            let inFlight = try await kept.next()

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

            inFlight.reply(JSONValue("done"))
            #expect(try await answer.json == JSONValue("done"))
            await closing.value
            await server.close()
            #expect(!server.isConnected)
            await #expect(throws: BusError.disconnected) { try await server.request("work", .null, .test()) }
            await #expect(throws: BusError.disconnected) { try await server.flush() }
            try server.publish("work.done", JSONValue.null)
        }
    }

    @Test("a handler may use the bus that calls it", arguments: BusKind.allCases)
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
                    if case .success(let data) = result { arrivals.add(data.json.int) }
                }
            }
            subscription.withLock { $0 = added }
            try await bus.flush()
            try bus.publish("once", JSONValue.null)
            #expect(try await arrivals.next() == 2)
        }
    }
}

import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Synchronization
import Testing

/// The promises of every bus. A new bus is added to `BusKind`.
@Suite("every bus: events", .timeLimit(.minutes(1)))
struct EventConformanceTests {
    @Test("an event reaches all subscribers whose pattern matches, and no others", arguments: BusKind.allCases)
    func wildcards(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let subscriber = try await fabric.client()
            let publisher = try await fabric.client()
            let arrivals = Arrivals<String>()
            for pattern in ["rooms.renamed", "rooms.*", "rooms.>", "*.renamed", "rooms", "*", "rooms.renamed.*"] {
                try subscriber.subscribe(pattern) { arrivals.add("\(pattern): \($0.subject) \($0.data)") }
            }
            let all = Arrivals<String>()
            try subscriber.subscribe(">") { all.add($0.subject) }
            try await subscriber.flush()
            for (number, subject) in ["rooms.renamed", "rooms.a.b", "rooms", "others.more", "the.very.end"].enumerated()
            {
                try publisher.publish(subject, JSONValue(number))
            }
            // The order of subscribers for one event is not promised; but none gets the last one
            // before the others.
            #expect(try await all.next(5) == ["rooms.renamed", "rooms.a.b", "rooms", "others.more", "the.very.end"])
            arrivals.add("the end")
            let expected = [
                "rooms.renamed: rooms.renamed 0", "rooms.*: rooms.renamed 0", "rooms.>: rooms.renamed 0",
                "*.renamed: rooms.renamed 0", "rooms.>: rooms.a.b 1", "rooms: rooms 2", "*: rooms 2", "the end",
            ]
            #expect(try await arrivals.next(expected.count).sorted() == expected.sorted())
        }
    }

    @Test("events of one publisher on one subject arrive in the order of sending", arguments: BusKind.allCases)
    func order(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let subscriber = try await fabric.client()
            let publisher = try await fabric.client()
            let arrivals = Arrivals<Int?>()
            try subscriber.subscribe("numbers.*") { arrivals.add($0.data.int) }
            try await subscriber.flush()
            for number in 0..<20_000 { try publisher.publish("numbers.all", JSONValue(number)) }
            #expect(try await arrivals.next(20_000) == (0..<20_000).map { $0 })
        }
    }

    @Test("an event that is too long does not prevent the others of its batch", arguments: BusKind.allCases)
    func together(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let subscriber = try await fabric.client()
            let publisher = try await fabric.client()
            let (all, shared) = (Arrivals<Int?>(), Arrivals<Int?>())
            try subscriber.subscribe("numbers") { all.add($0.data.int) }
            for _ in 1...2 { try subscriber.subscribe("numbers", queue: "q") { shared.add($0.data.int) } }
            try await subscriber.flush()
            let long = JSONValue(String(repeating: "x", count: BusLimits.maxLine))
            let payloads = (0..<100).map { $0 == 40 ? long : JSONValue($0) }
            let refusals = publisher.publish("numbers", all: payloads)
            #expect(refusals.count == 100 && refusals[40] == .lineTooLong)
            #expect(refusals.count { $0 != nil } == 1)
            let numbers = (0..<100).filter { $0 != 40 }
            #expect(try await all.next(99) == numbers)
            #expect(try await shared.next(99).compactMap(\.self).sorted() == numbers)
            #expect(publisher.publish("no subject", all: payloads) == payloads.map { _ in .badSubject })
            #expect(publisher.publish("numbers", all: []).isEmpty)
        }
    }

    @Test("a subscription that an event cancels receives no more of that batch", arguments: BusKind.allCases)
    func cancelledWithin(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            let received = Arrivals<Int?>()
            let own = Mutex<BusSubscription?>(nil)
            let subscription = try bus.subscribe("numbers") { message in
                own.withLock { $0 }?.cancel()
                received.add(message.data.int)
            }
            own.withLock { $0 = subscription }
            let end = Arrivals<Int?>()
            try bus.subscribe("end") { end.add($0.data.int) }
            try await bus.flush()
            #expect(bus.publish("numbers", all: (0..<100).map { JSONValue($0) }) == (0..<100).map { _ in nil })
            try bus.publish("end", JSONValue(1))
            _ = try await end.next(1)
            received.add(nil)
            #expect(try await received.next(2) == [0, nil])
        }
    }

    @Test("data arrives byte for byte", arguments: BusKind.allCases)
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
                #expect(try await arrivals.next() == value)
                #expect(try await bus.request("echo", value, .test()).json == value)
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
            let got = try await arrivals.next(300)
            #expect(got.compactMap(\.number).sorted() == Array(0..<300))
            #expect(Set(got.map(\.member)) == [0, 1, 2])
            #expect(try await others.next(300) == (0..<300).map { $0 })
        }
    }

    @Test("a cancelled subscription receives nothing more", arguments: BusKind.allCases)
    func unsubscribe(kind: BusKind) async throws {
        try await BusFabric.with(kind) { fabric in
            let bus = try await fabric.client()
            let arrivals = Arrivals<String>()
            let first = try bus.subscribe("a") { arrivals.add("first \($0.data)") }
            try bus.subscribe("a") { arrivals.add("second \($0.data)") }
            try bus.publish("a", JSONValue(1))
            #expect(Set(try await arrivals.next(2)) == ["first 1", "second 1"])
            first.cancel()
            first.cancel()
            try bus.publish("a", JSONValue(2))
            #expect(try await arrivals.next() == "second 2")
            try bus.publish("a", JSONValue(3))
            #expect(try await arrivals.next() == "second 3")
        }
    }
}

import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import Testing

@Suite("Batching requests", .timeLimit(.minutes(1)))
struct BatchingTests {
    /// A bus whose `test.read` is answered by hand, with the reply to each request by its number.
    private struct Harness {
        let bus = FakeBus()
        let requests = Collector<BusRequest>()
        let answers = Collector<(number: Int, answer: Result<JSONValue, BusError>)>()
        let batching: BatchingBus

        init() throws {
            batching = BatchingBus(bus) { $0 == "test.read" }
            try bus.respond(to: "test.>", queue: "test") { [requests] in requests.add($0) }
        }

        func ask(_ numbers: some Sequence<Int>, _ subject: String = "test.read", timeout: Duration = .seconds(60)) {
            for number in numbers {
                let context = BusContext(
                    requestID: "request-\(number)", caller: HostHarness.ada.json, timeout: timeout, key: "key")
                batching.request(subject, JSONValue(number), context) { [answers] in
                    answers.add((number, $0.map(\.json)))
                }
            }
        }

        /// Answers a request, single or batch, with its own data.
        func echo(_ request: BusRequest) {
            guard let batch = request.data.array else { return request.reply(request.data) }
            request.reply(JSONWriter.value { $0.array(of: batch) { $0.value($1["data"] ?? .null) } })
        }

        /// Answers so many requests, each as it arrives.
        func echo(first count: Int) async {
            for index in 0..<count { echo(await requests.first(index + 1)[index]) }
        }
    }

    @Test("a request with none in progress is sent at once and unchanged")
    func alone() async throws {
        let harness = try Harness()
        harness.ask(1...2)
        let sent = harness.requests.items
        #expect(sent.map(\.data) == [JSONValue(1), JSONValue(2)])
        #expect(sent.map(\.context.key) == ["key", "key"])
    }

    @Test("requests that arrive while two are in progress are sent as one, in order, and each gets its own reply")
    func together() async throws {
        let harness = try Harness()
        harness.ask(1...10)
        #expect(harness.requests.items.count == 2)
        harness.echo(harness.requests.items[0])
        let batch = try #require(await harness.requests.first(3)[2].data.array)
        #expect(batch.map { $0["data"] } == (3...10).map { JSONValue($0) })
        #expect(batch.map { $0["requestId"]?.string } == (3...10).map { "request-\($0)" })
        #expect(batch.allSatisfy { $0["caller"]?["id"]?.string == "ada" })
        harness.echo(harness.requests.items[1])
        harness.echo(harness.requests.items[2])
        for (number, answer) in await harness.answers.first(10) { #expect(try answer.get() == JSONValue(number)) }
    }

    @Test("a batch has a limit; the rest is sent with the next")
    func limit() async throws {
        let harness = try Harness()
        harness.ask(0..<200)
        await harness.echo(first: 6)
        #expect(harness.requests.items.map { $0.data.array?.count ?? 1 } == [1, 1, 64, 64, 64, 6])
        #expect(await harness.answers.first(200).map(\.number).sorted() == Array(0..<200))
    }

    @Test("subjects without batches, and long requests, are sent by themselves")
    func others() async throws {
        let harness = try Harness()
        harness.ask(0..<10, "test.write")
        #expect(harness.requests.items.count == 10)
        let long = JSONValue(String(repeating: "x", count: 20_000))
        for _ in 0..<5 { harness.batching.request("test.read", long, BusContext(requestID: "long")) { _ in } }
        #expect(harness.requests.items.count == 15)
    }

    @Test("the refusal of a whole batch is each request's refusal, whether it has travelled or not")
    func refused() async throws {
        let busy = ServiceError.unavailable("Storage")
        for refusal: any BusPayload in [busy, busy.json] {
            let harness = try Harness()
            harness.ask(0..<5)
            harness.echo(harness.requests.items[0])
            await harness.requests.first(3)[2].reply(refusal)
            let answers = await harness.answers.first(4)
            for (_, answer) in answers.dropFirst() { #expect(try answer.get() == busy.json) }
        }
    }

    @Test(
        "with an instance that knows no batches, each request is sent alone, whether the refusal has travelled or not")
    func unknown() async throws {
        let malformed = ServiceError(.malformedRequest, "A request has to be a JSON object.")
        for refusal: any BusPayload in [malformed, malformed.json] {
            let harness = try Harness()
            harness.ask(0..<5)
            harness.echo(harness.requests.items[0])
            await harness.requests.first(3)[2].reply(refusal)
            #expect(await harness.requests.first(6)[3...].map(\.data) == (2..<5).map { JSONValue($0) })
        }
    }

    @Test("a batch that the bus refuses is sent one by one, as one of its requests may be nested too deeply in it")
    func refusedByTheBus() async throws {
        let harness = try Harness()
        harness.bus.refuseRequests { $0.kind == .array }
        harness.ask(0..<5)
        harness.echo(harness.requests.items[0])
        let alone = await harness.requests.first(5).suffix(3)
        #expect(alone.map(\.data) == [JSONValue(2), JSONValue(3), JSONValue(4)])
        for request in alone { harness.echo(request) }
        for (number, answer) in await harness.answers.first(4) { #expect(try answer.get() == JSONValue(number)) }
    }

    @Test("a first answer that is too long is refused alone")
    func tooLong() async throws {
        let harness = try Harness()
        harness.ask(0..<5)
        harness.echo(harness.requests.items[0])
        let long = JSONValue(String(repeating: "x", count: BusLimits.maxLine))
        await harness.requests.first(3)[2].reply(long)
        #expect(await harness.requests.first(4)[3].data == JSONValue(2))
        harness.requests.items[3].reply(long)
        let rest = await harness.requests.first(5)[4]
        #expect(rest.data.array?.compactMap { $0["data"]?.int } == [3, 4])
        harness.echo(rest)
        let answers = await harness.answers.first(4).dropFirst()
        #expect(answers.map(\.number) == [2, 3, 4])
        #expect(answers.map { (try? $0.answer.get()) != nil } == [false, true, true])
    }

    @Test("a request that has waited for its whole time ends, is no longer sent, and does not affect the others")
    func late() async throws {
        let harness = try Harness()
        harness.ask(0..<2)
        harness.ask([2], timeout: .zero)
        harness.ask(3..<6)
        let (number, answer) = await harness.answers.first(1)[0]
        #expect(number == 2)
        #expect(throws: BusError.deadlineExceeded) { try answer.get() }
        harness.echo(harness.requests.items[0])
        #expect(await harness.requests.first(3)[2].data.array?.compactMap { $0["data"]?.int } == [3, 4, 5])
        harness.echo(harness.requests.items[2])
        #expect(await harness.answers.first(5).suffix(3).allSatisfy { (try? $0.answer.get()) != nil })
    }

    @Test("the requests of a batch have each their own deadline")
    func ownTime() async throws {
        let harness = try Harness()
        harness.ask(0..<2)
        harness.ask([2], timeout: .milliseconds(300))
        harness.ask([3])
        harness.echo(harness.requests.items[0])
        let batch = await harness.requests.first(3)[2]
        #expect(batch.data.array?.count == 2)
        let (number, _) = await harness.answers.first(2)[1]
        #expect(number == 2, "it ends while the batch goes on")
        harness.echo(batch)
        #expect(try await harness.answers.first(3)[2].answer.get() == JSONValue(3))
    }

    @Test("a stalled instance holds up the requests in progress, and no others")
    func stuck() async throws {
        let harness = try Harness()
        harness.ask(0..<2)
        harness.ask(2..<6)
        let batch = await harness.requests.first(3)[2]
        #expect(batch.data.array?.count == 4)
        harness.echo(batch)
        #expect(await harness.answers.first(4).map(\.number) == [2, 3, 4, 5])
    }

    @Test("requests whose reply had no room are not held up by a stalled instance, either")
    func stuckAfterPuttingBack() async throws {
        let harness = try Harness()
        harness.ask(0..<5, timeout: .seconds(3000))
        harness.echo(harness.requests.items[0])
        let batch = await harness.requests.first(3)[2]
        // Its end says that time has passed, in which nobody waited.
        harness.ask([5], timeout: .milliseconds(150))
        #expect(await harness.answers.first(2)[1].number == 5)
        batch.reply(JSONValue(String(repeating: "x", count: BusLimits.maxLine)))
        // Before them goes the first of the batch, alone and unanswered, and perhaps the one whose time is over.
        var count = 4
        while await harness.requests.first(count)[count - 1].data.array == nil { count += 1 }
        #expect(harness.requests.items[count - 1].data.array?.compactMap { $0["data"]?.int } == [3, 4])
    }

    @Test("a batch that is not understood is sent one by one")
    func skew() async throws {
        let harness = try Harness()
        harness.ask(0..<4)
        harness.echo(harness.requests.items[0])
        await harness.requests.first(3)[2].reply(ServiceError(.malformedRequest, "What is this?").json)
        let alone = await harness.requests.first(5).suffix(2)
        #expect(alone.map(\.data) == [JSONValue(2), JSONValue(3)])
        for request in alone { harness.echo(request) }
        for (number, answer) in await harness.answers.first(3) { #expect(try answer.get() == JSONValue(number)) }
    }

    @Test("a service answers a batch from one snapshot, each request as if alone")
    func snapshot() async throws {
        let harness = try await HostHarness.started { table in
            table.onRead("test.read") { request, _ in
                let number = try request.fields.optionalInt("number") ?? 0
                guard number != 2 else { throw ServiceError.roomNotFound }
                return Reply(.ok, JSONValue("\(try request.caller.id) \(request.id) \(number)"))
            }
        }
        func request(_ number: Int, caller: Caller?) -> JSONValue {
            JSONWriter.object { json in
                json.member("requestId", "request-\(number)")
                json.member("caller", caller?.json)
                json.member("data", object: { $0.member("number", number) })
            }
        }
        let batch = JSONWriter.value { json in
            json.array {
                $0.value(request(1, caller: HostHarness.ada))
                $0.value(request(2, caller: HostHarness.ada))
                $0.value(request(3, caller: nil))
                $0.value(request(4, caller: HostHarness.stranger))
            }
        }
        var reads: [Int] = []
        var answers: [JSONValue]?
        // The host reads its log each second, too: some attempts have no such read.
        for _ in 0..<10 {
            let before = harness.database.statistics.reads
            answers = try await harness.bus.request("test.read", batch, BusContext(requestID: "batch")).json.array
            reads.append(harness.database.statistics.reads - before)
        }
        #expect(reads.min() == 1)
        let outcomes = try #require(answers).map { answer in Result { try Reply(answer).data.string } }
        #expect(try outcomes[0].get() == "ada request-1 1")
        #expect(throws: ServiceError.roomNotFound) { try outcomes[1].get() }
        #expect((#expect(throws: ServiceError.self) { try outcomes[2].get() })?.code == .unauthenticated)
        #expect(try outcomes[3].get() == "eve request-4 4")
        await harness.stop()
    }

    @Test("replies that would be too long together are sent in several batches, each request resent at most once")
    func longAnswers() async throws {
        let asked = Collector<String>()
        let harness = try await HostHarness.started { table in
            table.onRead("test.read") { request, _ in
                asked.add(request.id)
                return Reply(.ok, JSONValue(String(repeating: "x", count: 200 << 10)))
            }
        }
        let batching = BatchingBus(harness.bus) { $0 == "test.read" }
        let answers = Collector<Int>()
        for number in 0..<22 {
            batching.request("test.read", .emptyObject, BusContext(requestID: "\(number)")) { answer in
                #expect((try? Reply(answer.get()))?.data.string?.utf8.count == 200 << 10)
                answers.add(number)
            }
        }
        #expect(await answers.first(22).sorted() == Array(0..<22))
        // Two fit at a time, and a third was made in vain.
        #expect(asked.items.count <= 33)
        await harness.stop()
    }

    @Test("a malformed batch is refused as bad input")
    func malformed() async throws {
        let harness = try await HostHarness.started { table in table.onRead("test.read") { _, _ in Reply() } }
        for data in ["[]", "[1]", "[{}]", "[\(String(repeating: "{},", count: 100)){}]"] {
            let refusal = await harness.error("test.read", try JSONValue(parsing: Array(data.utf8)))
            #expect(refusal?.code == .malformedRequest)
        }
        await harness.stop()
    }

    @Test("a service announces which subjects accept batches")
    func announced() async throws {
        let harness = try HostHarness { table in
            table.onRead("test.read") { _, _ in Reply() }
            table.on("test.write") { _ in Reply() }
        }
        let received = Collector<JSONValue>()
        try harness.bus.subscribe(Subject.announcements, queue: nil) { received.add($0.data) }
        try await harness.host.start()
        let announcement = await received.first(1)[0]
        #expect(announcement["manifest"].flatMap(Manifest.init)?.batched == ["test.read"])
        await harness.stop()
    }
}

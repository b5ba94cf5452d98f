import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import Testing

@Suite("a hosted service's requests", .timeLimit(.minutes(1)))
struct ServiceHostTests {
    @Test("requests in one room start in the order of sending, while its participants are requested and after")
    func order() async throws {
        let started = Collector<Int>()
        let harness = try await HostHarness.started { table in
            table.onRoom("test.it") { request in
                started.add(try request.fields.optionalInt("number") ?? -1)
                await Task.yield()
                return Reply()
            }
        }
        let context = BusContext(requestID: "order", caller: HostHarness.ada.json)
        for number in 0..<1000 {
            let data = JSONWriter.object {
                $0.member("roomId", "room")
                $0.member("number", number)
            }
            harness.bus.request("test.it", data, context) { _ in }
        }
        #expect(await started.first(1000) == Array(0..<1000))
        await harness.stop()
    }

    @Test("a host answers for its own description, and not for another version's")
    func description() async throws {
        let register = { @Sendable (table: inout RequestTable) in
            table.on(Endpoint("test.it").described(RequestDescription("Tests."))) { _ in Reply() }
        }
        let harness = try await HostHarness.started(register)
        let manifest = TestService(life: harness.life, handlers: register).manifest
        let own = try #require(manifest.descriptionDigest)
        func asking(_ digest: String) -> JSONValue { JSONWriter.object { $0.member("description", digest) } }
        for data in [.emptyObject, asking(own)] {
            let reply = try await harness.ask("test.describe", data, as: nil)
            #expect(reply.data["requests"]?["test.it"]?["summary"]?.string == "Tests.")
        }
        #expect(await harness.error("test.describe", asking("other"), as: nil)?.code == .serviceUnavailable)
        await harness.stop()
    }

    @Test("the handler of a room's request gets the room and the caller")
    func inRoom() async throws {
        let harness = try await HostHarness.started { table in
            table.onRoom("test.it") { Reply(.ok, JSONValue("\($0.room.roomID) \($0.caller.userID) \($0.id)")) }
        }
        #expect(try await harness.ask("test.it").data.string == "room ada request-1")
        await harness.stop()
    }

    @Test("a stranger gets the same error as for a room that does not exist")
    func stranger() async throws {
        let harness = try await HostHarness.started { table in
            table.onRoom("test.it") { _ in
                Issue.record("the handler was called")
                return Reply()
            }
        }
        #expect(await harness.error("test.it", as: HostHarness.stranger) == .roomNotFound)
        #expect(await harness.error("test.it", HostHarness.inRoom("none")) == .roomNotFound)
        await harness.stop()
    }

    @Test("missing fields of a room's request are reported before anything is requested")
    func refused() async throws {
        let harness = try await HostHarness.started { table in
            table.onRoom("test.it") { _ in Reply() }
            table.on("test.me") { Reply(.ok, JSONValue(try $0.caller.id)) }
        }
        #expect(await harness.error("test.it", as: nil)?.code == .unauthenticated)
        #expect(await harness.error("test.me", as: nil)?.code == .unauthenticated)
        #expect(await harness.error("test.it", .emptyObject)?.code == .invalidField)
        #expect(await harness.error("test.it", .emptyArray)?.code == .malformedRequest)
        #expect(await harness.error("test.me", .emptyArray)?.code == .malformedRequest)
        #expect(try await harness.ask("test.me").data.string == "ada")
        #expect(harness.log.lines.isEmpty, "these are the caller's, not ours")
        await harness.stop()
    }

    @Test("a service's error reaches the caller unchanged")
    func serviceError() async throws {
        let limited = ServiceError(.rateLimited, "Not so fast.", retryAfter: 7)
        let harness = try await HostHarness.started { $0.on("test.it") { _ in throw limited } }
        #expect(await harness.error("test.it") == limited)
        #expect(harness.log.lines.isEmpty)
        await harness.stop()
    }

    @Test(
        "temporary storage errors are service_unavailable, unstorable values invalid_field, the rest internal",
        arguments: [
            (StorageError.overloaded, ErrorCode.serviceUnavailable), (.busy, .serviceUnavailable),
            (.full, .serviceUnavailable), (.io("disk"), .serviceUnavailable), (.closed, .serviceUnavailable),
            (.unstorableText, .invalidField), (.corrupt("page 3"), .internal), (.unique("name"), .internal),
            (.constraint("name"), .internal), (.rejected("what"), .internal),
        ])
    func storage(thrown: StorageError, code: ErrorCode) async throws {
        let harness = try await HostHarness.started { $0.on("test.it") { _ in throw thrown } }
        let error = try #require(await harness.error("test.it"))
        #expect(error.code == code)
        #expect((error.retryAfter != nil) == (code == .serviceUnavailable))
        await harness.stop()
    }

    @Test("another unavailable service is service_unavailable")
    func away() async throws {
        let harness = try await HostHarness.started { $0.on("test.it") { _ in throw BusError.noResponders } }
        #expect(await harness.error("test.it")?.code == .serviceUnavailable)
        await harness.stop()
    }

    private struct Secretive: Error { let text = "a secret" }
    private enum Choosy: Error {
        case found(String)
        case lost
    }

    @Test(
        "an unknown error is internal to the caller; the log names it and its place, without the data",
        arguments: [
            (Secretive() as any Error, "Secretive"), (Choosy.found("a secret"), "Choosy.found"),
            (Choosy.lost, "Choosy.lost"), (JSONError(offset: 3, reason: "odd"), "not JSON at byte 3: odd"),
            (StorageError.corrupt("page 3"), "page 3"),
        ])
    func unknown(thrown: any Error, name: String) async throws {
        let harness = try await HostHarness.started { $0.on("test.it") { _ in throw thrown } }
        let data = JSONWriter.object { $0.member("text", "a secret") }
        #expect(
            await harness.error("test.it", data)
                == ServiceError(.internal, "Something went wrong on our side."))
        let line = try #require(harness.log.lines.first)
        #expect(line.contains(name))
        #expect(line.contains("request-1"))
        #expect(line.contains("test.it"))
        #expect(line.contains(#""level":"error""#))
        #expect(!line.contains("secret"))
        await harness.stop()
    }

    @Test("a request's timing and its count in progress end before its caller continues")
    func inlineCompletion() async throws {
        let harness = try await HostHarness.started(maxInFlight: 1) { table in
            table.on("test.it") { _ in Reply() }
        }
        let pages = Collector<String>()
        let statuses = Collector<Reply.Status?>()
        harness.bus.request("test.it", .emptyObject, BusContext(requestID: "first")) { _ in
            pages.add(harness.metrics.text())
            harness.bus.request("test.it", .emptyObject, BusContext(requestID: "second")) { answer in
                statuses.add((try? answer.get()).flatMap { try? Reply($0).status })  // nil for a refusal
            }
        }
        #expect(await pages.first(1)[0].contains("parlor_request_seconds_count{service=\"test\"} 1\n"))
        #expect(await statuses.first(1) == [.ok])
        await harness.stop()
    }

    @Test("a request over the limit on those in progress is refused at once, and one that ends makes room")
    func tooMany() async throws {
        let inside = Collector<Void>()
        let gate = Gate()
        let harness = try await HostHarness.started(maxInFlight: 2) { table in
            table.on("test.wait") { _ in
                inside.add(())
                await gate.passed()
                return Reply()
            }
        }
        async let first = harness.ask("test.wait")
        async let second = harness.ask("test.wait")
        await inside.first(2)
        let refused = await harness.error("test.wait")
        #expect(refused?.code == .serviceUnavailable)
        #expect(refused?.retryAfter == 1)
        #expect(inside.items.count == 2)
        gate.open()
        _ = try await (first, second)
        // The second's place is free by the time that it is seen that the service is idle.
        try await harness.ask(Subject.health(of: "test"))
        await harness.stop()
    }

    @Test("a request whose caller no longer waits is not carried out")
    func expired() async throws {
        let harness = try await HostHarness.started { table in
            table.on("test.it") { _ in
                Issue.record("the handler was called")
                return Reply()
            }
        }
        await #expect(throws: (any Error).self) { try await harness.ask("test.it", timeout: .zero) }
        await harness.stop()
    }

    @Test("a forwarded request has the same id and person, and no more time than is left")
    func onward() async throws {
        let asked = Collector<BusContext>()
        let harness = try await HostHarness.started { table in
            table.on("test.it") { request in
                asked.add(request.onward(key: "k"))
                return Reply()
            }
        }
        try await harness.ask("test.it", timeout: .seconds(3))
        let context = try #require(asked.items.first)
        #expect(context.requestID == "request-1")
        #expect(context.caller == HostHarness.ada.json)
        #expect(context.key == "k")
        #expect(context.timeout < .seconds(3))
        #expect(context.timeout > .zero)
        await harness.stop()
    }

    @Test("the service logs a gateway's refusal, with the claim and its owner")
    func refusedByGateway() async throws {
        let harness = try await HostHarness.started()
        try await harness.ask(
            "test.refused",
            JSONWriter.object {
                $0.member("what", "POST /login")
                $0.member("of", "accounts")
            })
        #expect(harness.log.text.contains("a gateway rejects this service"))
        #expect(harness.log.text.contains("accounts"))
        try await harness.ask("test.refused", JSONWriter.object { $0.member("reason", "it is too large: 300 routes") })
        #expect(harness.log.text.contains("it is too large: 300 routes"))
        await harness.stop()
    }

    @Test("the health check asks the database, too")
    func health() async throws {
        let harness = try await HostHarness.started()
        #expect(try await harness.ask(Subject.health(of: "test"), .emptyObject, as: nil).status == .ok)
        await harness.database.close()
        #expect(
            await harness.error(Subject.health(of: "test"), .emptyObject, as: nil)?.code == .serviceUnavailable)
        await harness.stop()
    }

    @Test("each instance's own health is that of its database, whoever else serves the same subjects")
    func ownHealth() async throws {
        let harness = try await HostHarness.started()
        let other = try harness.bus.respond(to: Subject.health(of: "test"), queue: "test") { $0.reply(Reply().json) }
        #expect(await harness.host.isHealthy(within: .seconds(30)))
        await harness.database.close()
        for _ in 0..<4 { #expect(await !harness.host.isHealthy(within: .seconds(30))) }
        other.cancel()
        await harness.stop()
    }

    @Test("an instance whose database does not reply in time is not healthy")
    func hangingDatabase() async throws {
        var storage = DatabaseConfiguration()
        storage.readers = 1
        let harness = try await HostHarness.started(storage: storage)
        let (entered, gate) = (Gate(), DatabaseGate())
        let blocked = Task {
            try await harness.database.read { _ in
                entered.open()
                gate.pass()
            }
        }
        await entered.passed()
        #expect(await !harness.host.isHealthy(within: .milliseconds(1)))
        try gate.open()
        try await blocked.value
        #expect(await harness.host.isHealthy(within: .seconds(30)))
        await harness.stop()
    }

    @Test("metrics show the database's work")
    func databaseMetrics() async throws {
        let harness = try await HostHarness.started()
        func metric(_ name: String) throws -> Int {
            let prefix = "parlor_database_\(name){service=\"test\"} "
            let line = harness.metrics.text().split(separator: "\n").first { $0.hasPrefix(prefix) }
            return try #require(line.flatMap { Int($0.dropFirst(prefix.count)) })
        }
        let before = (reads: try metric("reads_total"), commits: try metric("commits_total"))
        for _ in 0..<3 { try await harness.ask(Subject.health(of: "test"), .emptyObject, as: nil) }
        try await harness.append()
        // Others may read the end of the log meanwhile, so the lower number is taken first.
        let snapshots = try metric("snapshots_total")
        let reads = try metric("reads_total")
        #expect(reads >= before.reads + 3 && (1...reads).contains(snapshots))
        #expect(try metric("commits_total") > before.commits)
        await harness.stop()
    }
}

import Contracts
import JSON
import MessageBus
import ServiceKit
import Storage
import TestSupport
import Testing

@Suite("a hosted service's requests", .timeLimit(.minutes(1)))
struct ServiceHostTests {
    @Test("requests in one room start in the order they were sent, while its people are asked for and after")
    func order() async throws {
        let started = Collector<Int>()
        let world = try await HostWorld.started { table in
            table.onRoom("test.it") { request in
                started.add(try request.fields.optionalInt("number") ?? -1)
                await Task.yield()
                return Reply()
            }
        }
        let context = BusContext(requestID: "order", caller: HostWorld.ada.json)
        for number in 0..<1000 {
            let data = JSONWriter.object {
                $0.member("roomId", "room")
                $0.member("number", number)
            }
            world.bus.request("test.it", data, context) { _ in }
        }
        #expect(await started.first(1000) == Array(0..<1000))
        await world.stop()
    }

    @Test("in a room, the handler knows the room and who in it is asking")
    func inRoom() async throws {
        let world = try await HostWorld.started { table in
            table.onRoom("test.it") { Reply(.ok, JSONValue("\($0.room.roomID) \($0.caller.userID) \($0.id)")) }
        }
        #expect(try await world.ask("test.it").data.string == "room ada request-1")
        await world.stop()
    }

    @Test("a stranger is told the same as of a room that does not exist")
    func stranger() async throws {
        let world = try await HostWorld.started { table in
            table.onRoom("test.it") { _ in
                Issue.record("the handler was called")
                return Reply()
            }
        }
        #expect(await world.error("test.it", as: HostWorld.stranger) == .roomNotFound)
        #expect(await world.error("test.it", HostWorld.inRoom("none")) == .roomNotFound)
        await world.stop()
    }

    @Test("what a room's request lacks is said before anybody is asked")
    func refused() async throws {
        let world = try await HostWorld.started { table in
            table.onRoom("test.it") { _ in Reply() }
            table.on("test.me") { Reply(.ok, JSONValue(try $0.caller.id)) }
        }
        #expect(await world.error("test.it", as: nil)?.code == .unauthenticated)
        #expect(await world.error("test.me", as: nil)?.code == .unauthenticated)
        #expect(await world.error("test.it", .emptyObject)?.code == .invalidField)
        #expect(await world.error("test.it", .emptyArray)?.code == .malformedRequest)
        #expect(await world.error("test.me", .emptyArray)?.code == .malformedRequest)
        #expect(try await world.ask("test.me").data.string == "ada")
        #expect(world.log.lines.isEmpty, "these are the caller's, not ours")
        await world.stop()
    }

    @Test("a service's error reaches the caller as it is")
    func serviceError() async throws {
        let limited = ServiceError(.rateLimited, "Not so fast.", retryAfter: 7)
        let world = try await HostWorld.started { $0.on("test.it") { _ in throw limited } }
        #expect(await world.error("test.it") == limited)
        #expect(world.log.lines.isEmpty)
        await world.stop()
    }

    @Test(
        "storage that may work again is service_unavailable, what it cannot hold is invalid_field, the rest is internal",
        arguments: [
            (StorageError.overloaded, ErrorCode.serviceUnavailable), (.busy, .serviceUnavailable),
            (.full, .serviceUnavailable), (.io("disk"), .serviceUnavailable), (.closed, .serviceUnavailable),
            (.unstorableText, .invalidField), (.corrupt("page 3"), .internal), (.unique("name"), .internal),
            (.constraint("name"), .internal), (.rejected("what"), .internal),
        ])
    func storage(thrown: StorageError, code: ErrorCode) async throws {
        let world = try await HostWorld.started { $0.on("test.it") { _ in throw thrown } }
        let error = try #require(await world.error("test.it"))
        #expect(error.code == code)
        #expect((error.retryAfter != nil) == (code == .serviceUnavailable))
        await world.stop()
    }

    @Test("another service away is service_unavailable")
    func away() async throws {
        let world = try await HostWorld.started { $0.on("test.it") { _ in throw BusError.noResponders } }
        #expect(await world.error("test.it")?.code == .serviceUnavailable)
        await world.stop()
    }

    private struct Secretive: Error { let text = "a secret" }
    private enum Choosy: Error {
        case found(String)
        case lost
    }

    @Test(
        "an unknown error is internal to the caller; the log says which and where, without what it carries",
        arguments: [
            (Secretive() as any Error, "Secretive"), (Choosy.found("a secret"), "Choosy.found"),
            (Choosy.lost, "Choosy.lost"), (JSONError(offset: 3, reason: "odd"), "not JSON at byte 3: odd"),
            (StorageError.corrupt("page 3"), "page 3"),
        ])
    func unknown(thrown: any Error, name: String) async throws {
        let world = try await HostWorld.started { $0.on("test.it") { _ in throw thrown } }
        let data = JSONWriter.object { $0.member("text", "a secret") }
        #expect(
            await world.error("test.it", data)
                == ServiceError(.internal, "Something went wrong on our side."))
        let line = try #require(world.log.lines.first)
        #expect(line.contains(name))
        #expect(line.contains("request-1"))
        #expect(line.contains("test.it"))
        #expect(line.contains(#""level":"error""#))
        #expect(!line.contains("secret"))
        await world.stop()
    }

    @Test("a request's time and its being under way end before its asker goes on")
    func inlineCompletion() async throws {
        let world = try await HostWorld.started(maxUnderWay: 1) { table in
            table.on("test.it") { _ in Reply() }
        }
        let pages = Collector<String>()
        let statuses = Collector<Reply.Status?>()
        world.bus.request("test.it", .emptyObject, BusContext(requestID: "first")) { _ in
            pages.add(world.metrics.text())
            world.bus.request("test.it", .emptyObject, BusContext(requestID: "second")) { answer in
                statuses.add((try? answer.get()).flatMap { try? Reply($0).status })  // nil for a refusal
            }
        }
        #expect(await pages.first(1)[0].contains("parlor_request_seconds_count{service=\"test\"} 1\n"))
        #expect(await statuses.first(1) == [.ok])
        await world.stop()
    }

    @Test("with too many under way the next is refused at once, and one that ends makes room")
    func tooMany() async throws {
        let inside = Collector<Void>()
        let gate = Gate()
        let world = try await HostWorld.started(maxUnderWay: 2) { table in
            table.on("test.wait") { _ in
                inside.add(())
                await gate.passed()
                return Reply()
            }
        }
        async let first = world.ask("test.wait")
        async let second = world.ask("test.wait")
        await inside.first(2)
        let refused = await world.error("test.wait")
        #expect(refused?.code == .serviceUnavailable)
        #expect(refused?.retryAfter == 1)
        #expect(inside.items.count == 2)
        gate.open()
        _ = try await (first, second)
        // The second's place is free by the time that it is seen that the service is idle.
        try await world.ask(Subject.health(of: "test"))
        await world.stop()
    }

    @Test("what nobody waits for any more is not carried out")
    func expired() async throws {
        let world = try await HostWorld.started { table in
            table.on("test.it") { _ in
                Issue.record("the handler was called")
                return Reply()
            }
        }
        await #expect(throws: (any Error).self) { try await world.ask("test.it", timeout: .zero) }
        await world.stop()
    }

    @Test("a request onward has the same id and person, and no more time than is left")
    func onward() async throws {
        let asked = Collector<BusContext>()
        let world = try await HostWorld.started { table in
            table.on("test.it") { request in
                asked.add(request.onward(key: "k"))
                return Reply()
            }
        }
        try await world.ask("test.it", timeout: .seconds(3))
        let context = try #require(asked.items.first)
        #expect(context.requestID == "request-1")
        #expect(context.caller == HostWorld.ada.json)
        #expect(context.key == "k")
        #expect(context.timeout < .seconds(3))
        #expect(context.timeout > .zero)
        await world.stop()
    }

    @Test("a refusal by a gateway is in the service's log, with what it claims and of whom")
    func refusedByGateway() async throws {
        let world = try await HostWorld.started()
        try await world.ask(
            "test.refused",
            JSONWriter.object {
                $0.member("what", "POST /login")
                $0.member("of", "accounts")
            })
        #expect(world.harness.log.text.contains("a gateway refuses this service"))
        #expect(world.harness.log.text.contains("accounts"))
        await world.stop()
    }

    @Test("health is asked of the database, too")
    func health() async throws {
        let world = try await HostWorld.started()
        #expect(try await world.ask(Subject.health(of: "test"), .emptyObject, as: nil).status == .ok)
        await world.database.close()
        #expect(
            await world.error(Subject.health(of: "test"), .emptyObject, as: nil)?.code == .serviceUnavailable)
        await world.stop()
    }

    @Test("what the database does can be seen in the metrics")
    func databaseMetrics() async throws {
        let world = try await HostWorld.started()
        func metric(_ name: String) throws -> Int {
            let prefix = "parlor_database_\(name){service=\"test\"} "
            let line = world.metrics.text().split(separator: "\n").first { $0.hasPrefix(prefix) }
            return try #require(line.flatMap { Int($0.dropFirst(prefix.count)) })
        }
        let before = (reads: try metric("reads_total"), commits: try metric("commits_total"))
        for _ in 0..<3 { try await world.ask(Subject.health(of: "test"), .emptyObject, as: nil) }
        try await world.append()
        #expect(try metric("reads_total") == before.reads + 3)
        #expect(try metric("commits_total") > before.commits)
        #expect(try (1...metric("reads_total")).contains(metric("snapshots_total")))
        await world.stop()
    }
}

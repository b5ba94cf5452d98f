import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorStorage
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorServiceKit

@Suite("A service with a stalled disk", .timeLimit(.minutes(1)))
struct BackPressureTests {
    private static let limit = 5

    /// Runs the body with a service whose writer stands still, and whose queue holds `limit` writes. Opening the gate is
    /// the body's.
    private func stalled(_ body: (HostHarness, DatabaseGate, Collector<Int>) async throws -> Void) async throws {
        var storage = DatabaseConfiguration()
        storage.maxQueuedWrites = Self.limit
        let gate = DatabaseGate()
        let written = Collector<Int>()
        let database = Mutex<SQLiteDatabase?>(nil)
        let harness = try await HostHarness.started(storage: storage) { table in
            table.on("test.write") { request in
                let number = try request.fields.optionalInt("number") ?? -1
                guard let database = database.withLock({ $0 }) else { throw StorageError.closed }
                return try await database.write { _ in
                    written.add(number)
                    return Reply(.created)
                }
            }
            table.on("test.read") { _ in
                guard let database = database.withLock({ $0 }) else { throw StorageError.closed }
                return try await database.read { _ in Reply() }
            }
        }
        database.withLock { $0 = harness.database }
        // Its log is pruned when it starts, which would take a place of the queue.
        while harness.database.statistics.writes == 0 { await Task.yield() }
        let standing = await harness.database.close(gate)
        try await body(harness, gate, written)
        try await standing.value
        await harness.stop()
    }

    private func ask(_ harness: HostHarness, _ number: Int, _ answers: Collector<Result<Reply, ServiceError>>) {
        let context = BusContext(requestID: "\(number)", caller: HostHarness.ada.json)
        let data = JSONWriter.object { $0.member("number", number) }
        harness.bus.ask("test.write", data, context, of: "Test") { answers.add($0) }
    }

    @Test("accepts as many requests as its queue holds; the next is refused at once, as retryable")
    func refusal() async throws {
        try await stalled { harness, gate, written in
            let (taken, refused) = (Collector<Result<Reply, ServiceError>>(), Collector<Result<Reply, ServiceError>>())
            for number in 0..<Self.limit { ask(harness, number, taken) }
            // They are queued in the order in which they were sent, so these come too late. Nothing has been written when
            // they are answered: they did not wait for it.
            for number in Self.limit..<Self.limit + 3 { ask(harness, number, refused) }
            for answer in await refused.first(3) {
                guard case .failure(let error) = answer else {
                    Issue.record("\(answer)")
                    continue
                }
                #expect(error.code == .serviceUnavailable && error.code.isRetryable && error.retryAfter == 1)
            }
            #expect(taken.items.isEmpty && written.items.isEmpty)
            #expect(try await harness.ask("test.read").status == .ok, "reads go on")
            #expect(harness.log.lines.isEmpty, "overload is counted, not logged line by line")

            try gate.open()
            for answer in await taken.first(Self.limit) { #expect(try answer.get().status == .created) }
            #expect(written.items == Array(0..<Self.limit))
            #expect(try await harness.ask("test.write").status == .created, "and it goes on as if nothing had been")
        }
    }
}

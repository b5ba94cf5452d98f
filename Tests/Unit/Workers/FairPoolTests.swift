import Synchronization
import Testing

@testable import ParlorWorkers

@Suite("A fairly shared pool")
struct FairPoolTests {
    private let limits = FairPool.Limits(inFlightOfNetwork: 1, waitingOfAddress: 4, waitingOfNetwork: 4, waiting: 4)
    private let busy = Party(network: "busy", address: "busy")
    private let victim = Party(network: "victim", address: "victim")
    private var soon: ContinuousClock.Instant { .now + .seconds(60) }

    @Test("it runs the given work, and rethrows its errors")
    func runs() async throws {
        struct TestFailure: Error {}
        let workers = WorkerPool(threads: 2, maxWaiting: 8)
        let pool = FairPool(workers, limits)
        #expect(try await pool.run(for: busy, by: soon) { 7 } == 7)
        #expect(try await pool.run(for: nil, by: soon) { 8 } == 8)
        await #expect(throws: TestFailure.self) { try await pool.run(for: busy, by: soon) { throw TestFailure() } }
        await workers.close()
    }

    @Test("another party is served by the reserved thread while one fills its share")
    func leavesAThread() async throws {
        let workers = WorkerPool(threads: 2, maxWaiting: 8)
        let pool = FairPool(workers, limits)
        let gate = BlockingQueue<Void>(maxCount: 8, maxBytes: .max)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [self] in try await pool.run(for: busy, by: soon) { _ = gate.take(atMost: 1) } }
            }
            // None of those ends before the gate opens.
            #expect(try await pool.run(for: victim, by: soon) { 7 } == 7)
            for _ in 0..<4 { try gate.push((), bytes: 0) }
            try await group.waitForAll()
        }
        await workers.close()
    }

    @Test("work that is late when its turn comes is refused and not begun")
    func late() async throws {
        let workers = WorkerPool(threads: 1, maxWaiting: 8)
        let pool = FairPool(workers, limits)
        let past = ContinuousClock.now - .seconds(1)
        await #expect(throws: FairPoolRefusal.late) {
            try await pool.run(for: victim, by: past) { Issue.record("it was begun") }
        }
        #expect(try await pool.run(for: victim, by: soon) { 7 } == 7)
        await workers.close()
    }

    @Test("a closed pool refuses work, and loses none")
    func closed() async throws {
        let workers = WorkerPool(threads: 1, maxWaiting: 8)
        let pool = FairPool(workers, limits)
        await workers.close()
        for _ in 0..<3 {
            await #expect(throws: FairPoolRefusal.busy) { try await pool.run(for: victim, by: soon) {} }
        }
    }
}

import Synchronization
import Testing
import Workers

@Suite("Worker threads")
struct WorkersTests {
    @Test("a pool answers with what the body returns or throws")
    func answers() async throws {
        struct Refused: Error {}
        let pool = WorkerPool(threads: 2, maxWaiting: 100)
        for n in 0..<50 { #expect(try await pool.run { n * 2 } == n * 2) }
        await #expect(throws: Refused.self) { try await pool.run { throw Refused() } }
        await pool.close()
    }

    @Test("more than may wait is refused at once, and what waits is done")
    func bound() async throws {
        let pool = WorkerPool(threads: 1, maxWaiting: 3)
        let (started, gate) = (
            BlockingQueue<Int>(maxCount: 1, maxBytes: 1), BlockingQueue<Int>(maxCount: 1, maxBytes: 1)
        )
        let blocker = Task.immediate {
            try await pool.run {
                try started.push(0, bytes: 1)
                _ = gate.take(atMost: 1)
            }
        }
        let waiter = WorkerPool(threads: 1, maxWaiting: 1)
        _ = try await waiter.run { started.take(atMost: 1) }
        let waiting = (0..<3).map { n in Task.immediate { try await pool.run { n } } }
        await #expect(throws: BlockingQueueError.full) { try await pool.run {} }
        try gate.push(0, bytes: 1)
        try await blocker.value
        for (n, task) in waiting.enumerated() { #expect(try await task.value == n) }
    }

    @Test("closing does what waits and refuses what comes")
    func closing() async throws {
        let pool = WorkerPool(threads: 1, maxWaiting: 100)
        let done = Tally()
        let tasks = (0..<20).map { _ in Task.immediate { try await pool.run { done.add() } } }
        await pool.close()
        for task in tasks { try await task.value }
        #expect(done.count == 20)
        await #expect(throws: BlockingQueueError.closed) { try await pool.run {} }
    }

    @Test("a queue gives in order, in portions, by its limits, and nil at its end")
    func queue() throws {
        let queue = BlockingQueue<Int>(maxCount: 3, maxBytes: 10)
        try queue.push(1, bytes: 50)
        #expect(throws: BlockingQueueError.full) { try queue.push(2, bytes: 1) }
        #expect(queue.take(atMost: 5) == [1])
        for n in 1...3 { try queue.push(n, bytes: 1) }
        #expect(throws: BlockingQueueError.full) { try queue.push(4, bytes: 1) }
        #expect(queue.take(atMost: 2) == [1, 2])
        queue.close()
        #expect(throws: BlockingQueueError.closed) { try queue.push(4, bytes: 1) }
        #expect(queue.take(atMost: 2) == [3])
        #expect(queue.take(atMost: 2) == nil)
    }

    @Test("the last thread to end does what is to be done at the end, before the wait is over")
    func afterLast() async {
        let (ended, atTheEnd) = (Tally(), Tally())
        let threads = WorkerThreads { atTheEnd.add(ended.count) }
        let gate = BlockingQueue<Int>(maxCount: 1, maxBytes: 1)
        for _ in 0..<4 {
            threads.start {
                _ = gate.take(atMost: 1)
                ended.add()
            }
        }
        gate.close()
        await threads.ended()
        #expect(atTheEnd.count == 4)
    }
}

private final class Tally: Sendable {
    private let total = Atomic(0)

    var count: Int { total.load(ordering: .acquiring) }
    func add(_ amount: Int = 1) { total.add(amount, ordering: .releasing) }
}

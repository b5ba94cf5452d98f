import ParlorWorkers
import Synchronization
import Testing

@Suite("Worker threads")
struct WorkersTests {
    @Test("a pool returns what the body returns, or throws what it throws")
    func answers() async throws {
        struct Refused: Error {}
        let pool = WorkerPool(threads: 2, maxWaiting: 100)
        for n in 0..<50 { #expect(try await pool.run { n * 2 } == n * 2) }
        await #expect(throws: Refused.self) { try await pool.run { throw Refused() } }
        await pool.close()
    }

    @Test("a time limit ends the wait for work that is too slow, and passes on what other work returns or throws")
    func timeLimit() async throws {
        struct Refused: Error {}
        let slow = AsyncSignal()
        #expect(await result(within: .milliseconds(1)) { await slow.wait(atMost: .seconds(60)) } == nil)
        slow.signal()
        #expect(await result(within: .seconds(60)) { 1 } == 1)
        await #expect(throws: Refused.self) { try await result(within: .seconds(60)) { throw Refused() } as Int? }
    }

    @Test("work over the queue's limit is refused at once, and queued work is done")
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

    @Test("closing does the queued work and refuses more")
    func closing() async throws {
        let pool = WorkerPool(threads: 1, maxWaiting: 100)
        let done = Tally()
        let tasks = (0..<20).map { _ in Task.immediate { try await pool.run { done.add() } } }
        await pool.close()
        for task in tasks { try await task.value }
        #expect(done.count == 20)
        await #expect(throws: BlockingQueueError.closed) { try await pool.run {} }
    }

    @Test("a queue returns items in order, in portions, by its limits, and nil at its end")
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

    @Test("taking one at a time from a long queue takes a step for each", .timeLimit(.minutes(1)))
    func longQueue() throws {
        let count = 500_000
        let queue = BlockingQueue<Int>(maxCount: count, maxBytes: .max)
        for n in 0..<count { try queue.push(n, bytes: 1) }
        for n in 0..<count { #expect(queue.take(atMost: 1)?.first == n) }
        #expect(queue.count == 0)
    }

    @Test("alternate pushing and taking keeps the order, and taken items are released")
    func turns() throws {
        final class Held: Sendable {
            let number: Int
            init(_ number: Int) { self.number = number }
        }
        let queue = BlockingQueue<Held>(maxCount: 64, maxBytes: 640)
        var (pushed, taken) = (0, 0)
        for round in 0..<200 {
            for _ in 0..<min(round % 7 + 1, 64 - queue.count) {
                try queue.push(Held(pushed), bytes: 10)
                pushed += 1
            }
            weak var first: Held?
            do {
                let portion = try #require(queue.take(atMost: round % 5 + 1))
                #expect(portion.map(\.number) == Array(taken..<taken + portion.count))
                taken += portion.count
                first = portion.first
            }
            #expect(first == nil)
            #expect(queue.count == pushed - taken)
        }
    }

    @Test("threads that share a queue take no more than their part each, rounded up, and no more than their limit")
    func sharedQueue() throws {
        let queue = BlockingQueue<Int>(maxCount: 100, maxBytes: 100)
        for n in 1...20 { try queue.push(n, bytes: 1) }
        #expect(queue.take(atMost: 8, sharedAmong: 2) == Array(1...8))
        #expect(queue.take(atMost: 8, sharedAmong: 2) == Array(9...14))
        #expect(queue.take(atMost: 8, sharedAmong: 4) == Array(15...16))
        #expect(queue.take(atMost: 8, sharedAmong: 8) == [17])
        #expect(queue.take(atMost: 8) == [18, 19, 20])
    }

    @Test("the last thread to end runs the final work, before the wait is over")
    func afterLast() async {
        let (ended, atTheEnd) = (Tally(), Tally())
        let threads = WorkerThreads { atTheEnd.add(ended.count) }
        let gate = BlockingQueue<Int>(maxCount: 1, maxBytes: 1)
        for _ in 0..<4 {
            threads.start(named: "test") {
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

import Synchronization
import Testing
import Workers

@Suite("Gathered wake-ups", .timeLimit(.minutes(1)))
struct GatheredWakeupsTests {
    @Test("what a thread hands over until it delivers is taken in one go")
    func gathers() async {
        let queue = BlockingQueue<Int>(maxCount: 100, maxBytes: 100)
        let (taken, give) = AsyncStream.makeStream(of: [Int].self)
        let threads = WorkerThreads()
        threads.start(named: "taker") {
            while let numbers = queue.take(atMost: 100) { give.yield(numbers) }
            give.finish()
        }
        threads.start(named: "giver") {
            let wakeups = GatheredWakeups.begin()
            for round in 0..<20 {
                for number in 0..<5 { Self.push(round * 5 + number, to: queue) }
                wakeups.deliver()
                Self.waitUntilTaken(queue)
            }
            // Not delivered: its end does it.
            Self.push(100, to: queue)
            wakeups.end()
            Self.waitUntilTaken(queue)
            Self.push(101, to: queue)
            Self.waitUntilTaken(queue)
            queue.close()
        }
        var batches: [[Int]] = []
        for await numbers in taken { batches.append(numbers) }
        #expect(batches.flatMap { $0 } == Array(0...101))
        // The taker may come by itself before it is woken, but mostly it does not.
        #expect(batches.count { $0.count == 5 } >= 10)
        await threads.ended()
    }

    @Test("all threads that wait are woken for what is there")
    func several() async throws {
        let queue = BlockingQueue<Int>(maxCount: 10, maxBytes: 10)
        let threads = WorkerThreads()
        let meeting = Meeting(of: 3)
        for _ in 0..<3 {
            threads.start(named: "taker") {
                // None goes on before each has taken one.
                if queue.take(atMost: 1) != nil { meeting.arrive() }
            }
        }
        threads.start(named: "giver") {
            let wakeups = GatheredWakeups.begin()
            for number in 0..<3 { Self.push(number, to: queue) }
            wakeups.end()
        }
        await threads.ended()
    }

    /// Where threads wait for each other.
    private final class Meeting: Sendable {
        private let missing: Atomic<Int>

        init(of count: Int) { missing = Atomic(count) }

        func arrive() {
            missing.subtract(1, ordering: .relaxed)
            while missing.load(ordering: .relaxed) > 0 { ThreadPriority.giveWay() }
        }
    }

    private static func waitUntilTaken(_ queue: BlockingQueue<Int>) {
        while queue.count > 0 { ThreadPriority.giveWay() }
    }

    private static func push(_ number: Int, to queue: BlockingQueue<Int>) {
        do {
            try queue.push(number, bytes: 1)
        } catch {
            Issue.record("\(error)")
        }
    }
}

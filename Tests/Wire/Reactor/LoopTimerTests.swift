import ParlorTestSupport
import ParlorWorkers
import Testing

@testable import ParlorReactor

@Suite(.timeLimit(.minutes(1)))
struct LoopTimerTests {
    @Test("timers fire in the order of their deadlines, and never early")
    func order() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let seen = Collector<Int>()
            await withCheckedContinuation { continuation in
                loop.execute {
                    for delay in [30, 10, 20, 0] {
                        let start = LoopInstant.now()
                        loop.schedule(after: .milliseconds(delay)) {
                            #expect(LoopInstant.now() - start >= .milliseconds(delay))
                            seen.add(delay)
                            if delay == 30 { continuation.resume() }
                        }
                    }
                }
            }
            #expect(seen.items == [0, 10, 20, 30])
        }
    }

    @Test("a cancelled timer does not fire, and releases what it held")
    func cancel() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let isReleased = await on(loop) {
                weak var held: Collector<Int>?
                let timer: LoopTimer
                do {
                    let trace = Collector<Int>()
                    held = trace
                    timer = loop.schedule(after: .milliseconds(1)) { trace.add(1) }
                }
                #expect(timer.isArmed)
                timer.cancel()
                timer.rearm(after: .zero)
                #expect(!timer.isArmed)
                return held == nil
            }
            #expect(isReleased)
            await wait(.milliseconds(5), on: loop)
        }
    }

    @Test("a timer can be moved later and earlier, and fires once for each arming")
    func rearm() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let seen = Collector<Int>()
            await withCheckedContinuation { continuation in
                loop.execute {
                    let later = loop.schedule(after: .milliseconds(1)) { seen.add(3) }
                    later.rearm(after: .milliseconds(20))
                    let earlier = loop.schedule(after: .seconds(3600)) { seen.add(1) }
                    earlier.rearm(after: .milliseconds(2))
                    loop.schedule(after: .milliseconds(10)) {
                        seen.add(2)
                        #expect(later.isArmed)
                        #expect(!earlier.isArmed)
                    }
                    loop.schedule(after: .milliseconds(30)) { continuation.resume() }
                }
            }
            #expect(seen.items == [1, 2, 3])
        }
    }

    @Test("a timer that re-arms itself at once does not hold the loop")
    func selfRearming() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let rounds = Collector<Int>()
            await withCheckedContinuation { continuation in
                loop.execute {
                    again()
                    loop.schedule(after: .milliseconds(5)) { continuation.resume() }
                }
                @Sendable func again() {
                    loop.schedule(after: .zero) {
                        rounds.add(1)
                        again()
                    }
                }
            }
            #expect(!rounds.items.isEmpty)
        }
    }

    @Test("hundreds of timers that are due at once do not hold the loop")
    func manyAtOnce() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.shutdown() }
        let loop = group.loops[0]
        let fired = await withCheckedContinuation { continuation in
            loop.execute {
                nonisolated(unsafe) var count = 0
                for number in 0..<500 {
                    loop.schedule(after: .zero) {
                        count += 1
                        if number == 0 { loop.inNextTurn { continuation.resume(returning: count) } }
                    }
                }
            }
        }
        #expect(fired > 0 && fired < 500)
    }

    private func wait(_ delay: Duration, on loop: EventLoop) async {
        await withCheckedContinuation { continuation in
            loop.execute { loop.schedule(after: delay) { continuation.resume() } }
        }
    }
}

@Suite struct TimerQueueTests {
    @Test("any sequence of arming, moving and cancelling fires as a sorted list would")
    func againstAList() throws {
        let loop = try EventLoop(index: 0, resolver: WorkerPool(threads: 1, maxWaiting: 1))
        var random = SeededGenerator(seed: 7)
        var queue = TimerQueue()
        var expected: [(timer: LoopTimer, deadline: UInt64, order: Int)] = []
        var timers: [LoopTimer] = []
        var order = 0
        var now: UInt64 = 1_000
        for _ in 0..<5_000 {
            switch random.next() % 8 {
            case 0...2:
                let timer = LoopTimer(loop: loop) {}
                timers.append(timer)
                arm(timer)
            case 3, 4:
                if let timer = timers.randomElement(using: &random) { arm(timer) }
            case 5:
                if let timer = timers.randomElement(using: &random) {
                    queue.disarm(timer)
                    expected.removeAll { $0.timer === timer }
                }
            default:
                now += random.next() % 40
                while let due = queue.popDue(at: LoopInstant(nanoseconds: now), armedUpTo: .max) {
                    let first = expected.enumerated().min {
                        ($0.element.deadline, $0.element.order) < ($1.element.deadline, $1.element.order)
                    }
                    let (index, entry) = try #require(first)
                    try #require(entry.timer === due)
                    expected.remove(at: index)
                }
                try #require(!expected.contains { $0.deadline <= now })
            }
            try #require(queue.count == expected.count)
            if timers.count > 200 { timers.removeFirst(100) }
        }

        func arm(_ timer: LoopTimer) {
            let deadline = now + random.next() % 500
            order += 1
            queue.arm(timer, at: LoopInstant(nanoseconds: deadline))
            expected.removeAll { $0.timer === timer }
            expected.append((timer, deadline, order))
        }
    }

    @Test("timers that are re-armed with every packet do not pile up")
    func bounded() throws {
        let loop = try EventLoop(index: 0, resolver: WorkerPool(threads: 1, maxWaiting: 1))
        var queue = TimerQueue()
        let timers = (0..<100).map { _ in LoopTimer(loop: loop) {} }
        for round in 0..<1_000 {
            // Earlier each time, which is the case that leaves dead entries.
            for timer in timers { queue.arm(timer, at: LoopInstant(nanoseconds: 1_000_000 - UInt64(round))) }
            #expect(queue.entryCount <= 300)
        }
        #expect(queue.count == 100)
    }
}

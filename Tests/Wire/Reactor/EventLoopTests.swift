import ParlorReactor
import ParlorTestSupport
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    @Test("work runs on the loop in the order of its submission, also from several threads")
    func order() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let traces = [Collector<Int>(), Collector<Int>(), Collector<Int>()]
            await withTaskGroup(of: Void.self) { tasks in
                for trace in traces {
                    tasks.addTask {
                        for number in 0..<2_000 {
                            loop.execute {
                                #expect(loop.isCurrent)
                                trace.add(number)
                            }
                        }
                    }
                }
            }
            await on(loop) {}
            for trace in traces { #expect(trace.items == Array(0..<2_000)) }
        }
    }

    @Test("idle work runs after everything else, once, and on a sleeping loop at once")
    func idle() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let seen = Collector<Int>()
            let (ended, end) = AsyncStream.makeStream(of: Void.self)
            loop.execute {
                loop.whenIdle {
                    seen.add(3)
                    loop.whenIdle { end.finish() }
                }
                loop.execute {
                    seen.add(1)
                    loop.schedule(after: .zero) { seen.add(2) }
                }
            }
            for await _ in ended {}
            #expect(seen.items == [1, 2, 3])
        }
    }

    @Test("a loop recognises itself on its own thread only")
    func current() async throws {
        try await withLoops(2) { group in
            #expect(EventLoop.current == nil)
            #expect(!group.loops[0].isCurrent)
            let found = await on(group.loops[1]) { EventLoop.current?.index }
            #expect(found == 1)
        }
    }

    @Test("work submitted from the loop itself runs after the queued work, and wakes nobody")
    func fromTheLoop() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let outcomes = Events(of: (order: [Int], wakeups: Int).self)
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in
                Answering { _ in
                    let before = loop.counters.wakeups.value
                    let seen = Collector<Int>()
                    loop.execute { seen.add(1) }
                    loop.execute { seen.add(2) }
                    loop.execute { outcomes.source.yield((seen.items, loop.counters.wakeups.value - before)) }
                    seen.add(0)
                }
            }
            let client = try BlockingSocket(port: listener.port)
            try client.send("x")
            let outcome = try #require(await outcomes.next())
            #expect(outcome.order == [0, 1, 2])
            #expect(outcome.wakeups == 0)
        }
    }

    @Test("an actor lives on its loop, and a callback enters it without a hop")
    func pinnedActor() async throws {
        try await withLoops { group in
            let tally = Tally(loop: group.loops[0])
            await tally.add(1)
            await on(group.loops[0]) { tally.assumeIsolated { $0.add(2) } }
            #expect(await tally.total == 3)
            #expect(await tally.stayedOnTheLoop)
        }
    }

    @Test(
        "calls into an actor from anywhere run on its loop, in order, and later in the turn if they come from it"
    )
    func entering() async throws {
        try await withLoops { group in
            let tally = Tally(loop: group.loops[0])
            for number in 0..<10 { tally.enqueue { $0.add(number) } }
            await on(group.loops[0]) {
                tally.enqueue { $0.add(11) }
                tally.assumeIsolated { $0.add(10) }
            }
            #expect(await tally.added == Array(0..<12))
            #expect(await tally.stayedOnTheLoop)
        }
    }

    @Test("a call for the loop that enters an actor weakly does not retain it, and does nothing once it is gone")
    func enteringWeakly() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let calls = Collector<Int>()
            let tally = Tally(loop: loop)
            await on(loop) {
                loop.schedule(after: .zero, tally.weakly { $0.add(1) })
                let gone = Tally(loop: loop)
                loop.schedule(after: .zero, gone.weakly { _ in calls.add(0) })
            }
            // Due after those two.
            await withCheckedContinuation { continuation in
                loop.execute {
                    loop.schedule(after: .zero) {
                        calls.add(1)
                        continuation.resume()
                    }
                }
            }
            #expect(await tally.added == [1])
            #expect(calls.items == [1])
        }
    }

    @Test("actor calls and work take turns in the order they were made")
    func actorOrder() async throws {
        try await withLoops { group in
            let tally = Tally(loop: group.loops[0])
            for number in 0..<100 { await tally.add(number) }
            #expect(await tally.added == Array(0..<100))
        }
    }

    @Test("a task with the loop as its preference runs there, also after waiting elsewhere")
    func taskPreference() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let tally = Tally(loop: loop)
            let threads = await Task(executorPreference: loop) {
                let before = loop.isCurrent
                await Task.detached { #expect(!loop.isCurrent) }.value
                await tally.add(1)
                return [before, loop.isCurrent]
            }.value
            #expect(threads == [true, true])
        }
    }

    @Test("a default actor called from a task on the loop works as usual")
    func defaultActor() async throws {
        try await withLoops { group in
            let counter = PlainCounter()
            await withTaskGroup(of: Void.self) { tasks in
                for _ in 0..<100 { tasks.addTask(executorPreference: group.loops[0]) { await counter.add() } }
            }
            #expect(await counter.count == 100)
        }
    }

    @Test("the end of the turn comes after the turn's work, and once")
    func endOfTurn() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let seen = Collector<Int>()
            await withCheckedContinuation { ended in
                loop.execute {
                    loop.atEndOfTurn {
                        seen.add(2)
                        ended.resume()
                    }
                    loop.execute { seen.add(1) }
                    seen.add(0)
                }
            }
            await withCheckedContinuation { ended in loop.execute { loop.atEndOfTurn { ended.resume() } } }
            #expect(seen.items == [0, 1, 2])
        }
    }

    @Test("a loop that is always busy still runs its timers")
    func fairness() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let isDone = Atomic<Bool>(false)
            await withCheckedContinuation { continuation in
                loop.execute {
                    again()
                    loop.schedule(after: .milliseconds(1)) {
                        isDone.store(true, ordering: .relaxed)
                        continuation.resume()
                    }
                }
            }
            @Sendable func again() {
                if !isDone.load(ordering: .relaxed) { loop.execute { again() } }
            }
        }
    }

    @Test("shutdown runs the submitted work, and may be repeated")
    func shutdown() async throws {
        let group = try EventLoopGroup(loopCount: 2)
        let done = Atomic<Int>(0)
        for loop in group.loops {
            loop.execute { loop.execute { done.wrappingAdd(1, ordering: .relaxed) } }
        }
        group.shutdown()
        group.shutdown()
        #expect(done.load(ordering: .relaxed) == 2)
        group.loops[0].execute { Issue.record("work after the end") }
    }

    @Test("loops are assigned in turn, and for a key always the same")
    func choice() async throws {
        try await withLoops(3) { group in
            let picked = (0..<6).map { _ in group.next().index }
            #expect(picked == [0, 1, 2, 0, 1, 2])
            #expect(Set((0..<10).map { _ in group.loop(forKey: "room").index }).count == 1)
        }
    }

    @Test("a group that has shut down leaves no descriptor and no loop behind")
    func leaks() async throws {
        weak var released: EventLoop?
        do {
            let group = try EventLoopGroup(loopCount: 1)
            released = group.loops[0]
            await on(group.loops[0]) {}
            group.shutdown()
        }
        #expect(released == nil)
    }
}

private actor Tally: LoopActor {
    nonisolated let loop: EventLoop
    private(set) var added: [Int] = []
    private(set) var stayedOnTheLoop = true
    var total: Int { added.reduce(0, +) }

    init(loop: EventLoop) { self.loop = loop }

    func add(_ number: Int) {
        if !loop.isCurrent { stayedOnTheLoop = false }
        added.append(number)
    }
}

private actor PlainCounter {
    private(set) var count = 0
    func add() { count += 1 }
}

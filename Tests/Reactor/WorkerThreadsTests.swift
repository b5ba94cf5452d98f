import Glibc
import Reactor
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct WorkerThreadsTests {
    @Test("a call's result and its error come back")
    func results() async throws {
        let workers = WorkerThreads(name: "test", count: 2, maxQueued: 8)
        defer { workers.shutdown() }
        #expect(try await workers.run { 6 * 7 } == 42)
        await #expect(throws: Refusal()) { try await workers.run { throw Refusal() } }
    }

    @Test("no more calls run at once than there are threads")
    func concurrency() async throws {
        let workers = WorkerThreads(name: "test", count: 3, maxQueued: 200, niceness: 5)
        defer { workers.shutdown() }
        let running = Running()
        try await withThrowingTaskGroup(of: Int.self) { tasks in
            for _ in 0..<200 {
                tasks.addTask {
                    try await workers.run {
                        let now = running.count.wrappingAdd(1, ordering: .relaxed).newValue
                        sched_yield()
                        running.count.wrappingSubtract(1, ordering: .relaxed)
                        return now
                    }
                }
            }
            for try await now in tasks { #expect(now <= 3) }
        }
    }

    @Test("a call over the limit is refused at once, and there is room again later")
    func full() async throws {
        let workers = WorkerThreads(name: "test", count: 1, maxQueued: 1)
        defer { workers.shutdown() }
        let gate = Gate()
        let started = Events(of: Int.self)
        try workers.submit {
            started.source.yield(1)
            gate.wait()
        }
        #expect(await started.next() == 1)
        try workers.submit { started.source.yield(2) }
        #expect(throws: WorkerThreadsError.queueFull) { try workers.submit { Issue.record("over the limit") } }
        gate.open()
        #expect(await started.next() == 2)
        #expect(try await workers.run { true })
    }

    @Test("shutdown finishes what is queued and refuses more")
    func shutdown() async throws {
        let workers = WorkerThreads(name: "test", count: 1, maxQueued: 100)
        let done = Atomic<Int>(0)
        for _ in 0..<50 { try workers.submit { done.wrappingAdd(1, ordering: .relaxed) } }
        workers.shutdown()
        #expect(done.load(ordering: .relaxed) == 50)
        await #expect(throws: WorkerThreadsError.shutDown) { try await workers.run {} }
    }

    @Test("nothing is kept of a call that is done")
    func release() async throws {
        let workers = WorkerThreads(name: "test", count: 1, maxQueued: 100)
        weak var released: Trace?
        do {
            let trace = Trace()
            released = trace
            try workers.submit { trace.note(1) }
            workers.shutdown()
        }
        #expect(released == nil)
    }

    private final class Running: Sendable {
        let count = Atomic<Int>(0)
    }

    private struct Refusal: Error, Equatable {}
}

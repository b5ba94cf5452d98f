import Glibc
import ParlorWorkers
import Synchronization
import Testing

@Suite("A thread for tasks")
struct TaskThreadTests {
    /// SCHED_IDLE of <sched.h>.
    private static let idlePolicy: Int32 = 5

    @Test("a task and its child tasks run on one thread, in the background if requested")
    func oneThread() async {
        let executor = TaskThread(named: "test", priority: .background)
        let threads = await Task(executorPreference: executor) {
            async let child = Self.here()
            await Task.yield()
            return [await Self.here(), await child]
        }.value
        #expect(Set(threads.map(\.thread)).count == 1)
        #expect(threads.allSatisfy { $0.policy == Self.idlePolicy })
        let normal = TaskThread(named: "test", priority: .normal)
        #expect(await Task(executorPreference: normal) { await Self.here() }.value.policy == SCHED_OTHER)
    }

    @Test("tasks without a reserved thread start one themselves, and it ends after the last of them")
    func lifetime() async {
        weak var kept: TaskThread?
        let (signs, continuation) = AsyncStream.makeStream(of: Int.self)
        let task: Task<Int, Never>
        do {
            let executor = TaskThread(named: "test", priority: .normal)
            kept = executor
            task = Task(executorPreference: executor) { await signs.reduce(0, +) }
        }
        for sign in 1...100 {
            continuation.yield(sign)
            await Task.yield()
        }
        #expect(kept != nil)
        continuation.finish()
        #expect(await task.value == 5050)
        // Who waits for the value may go on before the thread has let go of the task.
        while kept != nil { await Task.yield() }
    }

    private static func here() async -> (thread: UInt, policy: Int32) {
        var policy: Int32 = 0
        var parameter = sched_param()
        pthread_getschedparam(pthread_self(), &policy, &parameter)
        return (UInt(pthread_self()), policy)
    }
}

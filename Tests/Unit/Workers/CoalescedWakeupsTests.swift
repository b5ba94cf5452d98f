import Synchronization
import Testing

@testable import ParlorWorkers

@Suite("Coalesced wake-ups", .timeLimit(.minutes(1)))
struct CoalescedWakeupsTests {
    /// Counts instead of waking.
    private final class Bell: Wakeable, Sendable {
        private let rings = Atomic(0)

        var count: Int { rings.load(ordering: .relaxed) }
        func wake() { rings.add(1, ordering: .relaxed) }
    }

    @Test(
        "a gathering thread wakes each queue once, on delivery or when enough has gathered; after its end at once"
    )
    func gathers() async {
        let (bell, other) = (Bell(), Bell())
        let threads = WorkerThreads()
        threads.start(named: "gathers") {
            CoalescedWakeups.note(bell)
            #expect(bell.count == 1)
            let wakeups = CoalescedWakeups()
            wakeups.begin()
            for _ in 0..<5 { CoalescedWakeups.note(bell) }
            CoalescedWakeups.note(other)
            #expect(bell.count == 1 && other.count == 0)
            wakeups.deliver()
            #expect(bell.count == 2 && other.count == 1)
            wakeups.deliver()
            for _ in 0..<31 { CoalescedWakeups.note(bell) }
            #expect(bell.count == 2)
            CoalescedWakeups.note(bell)
            #expect(bell.count == 3)
            CoalescedWakeups.note(other)
            wakeups.end()
            #expect(bell.count == 3 && other.count == 2)
            for _ in 0..<2 { CoalescedWakeups.note(other) }
            #expect(other.count == 4)
        }
        await threads.ended()
    }

    @Test("all waiting threads are woken for the available work")
    func several() async {
        let queue = BlockingQueue<Int>(maxCount: 10, maxBytes: 10)
        let threads = WorkerThreads()
        let taken = Counter()
        for _ in 0..<3 {
            threads.start(named: "taker") {
                // None goes on before each has taken one.
                guard queue.take(atMost: 1) != nil else { return }
                taken.value.add(1, ordering: .relaxed)
                while taken.value.load(ordering: .relaxed) < 3 { ThreadPriority.giveWay() }
            }
        }
        threads.start(named: "giver") {
            let wakeups = CoalescedWakeups()
            wakeups.begin()
            for number in 0..<3 {
                do {
                    try queue.push(number, bytes: 1)
                } catch {
                    Issue.record("\(error)")
                }
            }
            wakeups.end()
        }
        await threads.ended()
    }

    private final class Counter: Sendable {
        let value = Atomic(0)
    }
}

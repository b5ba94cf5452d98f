/// The timers of a loop, by deadline, in a binary heap.
///
/// Cancelling a timer, or moving it to an earlier time, leaves a dead entry in the heap. It stays until its time comes
/// or the dead entries outnumber the living. So a timer's position in the heap need not be known, and cancelling takes
/// constant time, amortised.
struct TimerQueue {
    struct Key: Comparable {
        let deadline: LoopInstant
        let armed: UInt64

        @inline(__always) static func < (a: Key, b: Key) -> Bool {
            a.deadline != b.deadline ? a.deadline < b.deadline : a.armed < b.armed
        }
    }

    private struct Entry {
        let key: Key
        let timer: LoopTimer

        var isDead: Bool { timer.entry != key }
    }

    private var heap: [Entry] = []
    private var dead = 0
    private var lastArmed: UInt64 = 0

    /// The deadline of the first entry, living or dead, at which the queue must be checked.
    var nextDeadline: LoopInstant? { heap.first?.key.deadline }

    var count: Int { heap.count - dead }

    /// The number of entries, including dead ones.
    var entryCount: Int { heap.count }

    mutating func arm(_ timer: LoopTimer, at deadline: LoopInstant) {
        lastArmed += 1
        timer.deadline = deadline
        timer.armed = lastArmed
        if let entry = timer.entry {
            // The existing entry comes up first, and then moves to the deadline.
            if entry.deadline <= deadline { return }
            dead += 1
        }
        push(timer)
        dropDead()
    }

    mutating func disarm(_ timer: LoopTimer) {
        guard timer.entry != nil else { return }
        timer.entry = nil
        dead += 1
        dropDead()
    }

    /// Removes and returns the next due timer. Timers that were armed after `limit` wait for the next turn,
    /// so that a timer that re-arms itself for now cannot hold the loop.
    mutating func popDue(at now: LoopInstant, armedUpTo limit: UInt64) -> LoopTimer? {
        while let first = heap.first, first.key.deadline <= now {
            let timer = first.timer
            if first.isDead {
                dead -= 1
                removeFirst()
            } else if timer.deadline > first.key.deadline || timer.armed != first.key.armed {
                removeFirst()
                push(timer)
            } else if timer.armed > limit {
                return nil
            } else {
                removeFirst()
                timer.entry = nil
                return timer
            }
        }
        return nil
    }

    /// The order number of the latest arming.
    var latest: UInt64 { lastArmed }

    /// Removes every timer. The caller releases them, as the deinit of an object that a closure captured may
    /// call this queue.
    mutating func removeAll() -> [LoopTimer] {
        let timers = heap.map(\.timer)
        for timer in timers { timer.entry = nil }
        heap = []
        dead = 0
        return timers
    }

    private mutating func push(_ timer: LoopTimer) {
        let key = Key(deadline: timer.deadline, armed: timer.armed)
        timer.entry = key
        heap.append(Entry(key: key, timer: timer))
        siftUp(heap.count - 1)
    }

    private mutating func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        siftDown(0)
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].key < heap[parent].key else { return }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            let left = 2 * index + 1
            for child in left..<max(left, min(left + 2, heap.count)) where heap[child].key < heap[least].key {
                least = child
            }
            if least == index { return }
            heap.swapAt(index, least)
            index = least
        }
    }

    /// Keeps the heap within twice the living entries, unless at most 64 entries are dead. It takes constant time,
    /// amortised over the cancellations.
    private mutating func dropDead() {
        guard dead > 64, dead * 2 > heap.count else { return }
        heap.removeAll { $0.isDead }
        dead = 0
        for index in (0..<heap.count / 2).reversed() { siftDown(index) }
    }
}

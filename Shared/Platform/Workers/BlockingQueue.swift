import Glibc

/// A bounded queue that passes elements from tasks to threads. A task never waits for it; a thread waits until there
/// are elements.
///
/// `@unchecked Sendable`: every access to the state below is made under `mutex`.
public final class BlockingQueue<Element: Sendable>: Wakeable, @unchecked Sendable {
    private let maxCount: Int
    private let maxBytes: Int
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrival = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var elements: [(element: Element?, bytes: Int)] = []
    /// The index of the first element that has not been taken.
    private var head = 0
    private var bytes = 0
    private var isClosed = false

    public init(maxCount: Int, maxBytes: Int) {
        self.maxCount = maxCount
        self.maxBytes = maxBytes
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(arrival, nil)
    }

    deinit {
        pthread_cond_destroy(arrival)
        pthread_mutex_destroy(mutex)
        arrival.deallocate()
        mutex.deallocate()
    }

    public var count: Int { locked { waiting } }

    private var waiting: Int { elements.count - head }

    /// Adds an element. On a thread that coalesces wake-ups, the waiting thread is woken a little later
    /// (`CoalescedWakeups`).
    ///
    /// - Throws: `full` if a limit of count or bytes is reached, or `closed`; it never waits.
    public func push(_ element: Element, bytes size: Int) throws(BlockingQueueError) {
        let refusal: BlockingQueueError? = locked {
            if isClosed { return .closed }
            // An element that is larger than the whole queue may pass if the queue is empty, as it never
            // could otherwise.
            if waiting >= maxCount || (bytes + size > maxBytes && waiting > 0) { return .full }
            elements.append((element, size))
            bytes += size
            return nil
        }
        if let refusal { throw refusal }
        CoalescedWakeups.note(self)
    }

    package func wake() {
        // Several elements are for several threads.
        if count > 1 { pthread_cond_broadcast(arrival) } else { pthread_cond_signal(arrival) }
    }

    /// Waits for elements, and takes them in order. Returns nil once the queue is closed and empty.
    ///
    /// - Parameter takers: the number of threads that share the waiting elements: none takes more than its
    ///   part, rounded up.
    public func take(atMost limit: Int, sharedAmong takers: Int = 1) -> [Element]? {
        locked {
            while waiting == 0, !isClosed { pthread_cond_wait(arrival, mutex) }
            if waiting == 0 { return nil }
            var taken: [Element] = []
            for index in head..<(head + min(limit, (waiting + takers - 1) / takers)) {
                // Release it at once: a closure may hold much memory.
                if let element = elements[index].element.take() { taken.append(element) }
                bytes -= elements[index].bytes
                head += 1
            }
            // Move the rest only when at least half of the array has been taken: then the moves cost at most
            // one step for each element.
            if head * 2 >= elements.count {
                elements.removeFirst(head)
                head = 0
            }
            return taken
        }
    }

    /// Refuses new elements; queued ones can still be taken.
    public func close() {
        locked { isClosed = true }
        pthread_cond_broadcast(arrival)
    }

    private func locked<T>(_ body: () -> T) -> T {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}

/// The reason why a queue rejects an element.
public enum BlockingQueueError: Error {
    case full
    case closed
}

import Glibc

/// A thread's wake-ups of others, delayed until it has handed over all that it has for them. So a
/// waiting thread takes all of it at once, and not the first element alone.
///
/// Event loops do this: the messages of one turn become one commit. Other threads wake others at
/// once.
public final class CoalescedWakeups {
    private var queues: [any Wakeable] = []
    private var count = 0

    /// Nobody waits for more pieces than these: by then it is time that somebody begins.
    private static let most = 32

    /// From here on the calling thread gathers, until `end`. It calls `deliver` whenever it has come to an end with something.
    public static func begin() -> CoalescedWakeups {
        let wakeups = CoalescedWakeups()
        pthread_setspecific(key, Unmanaged.passRetained(wakeups).toOpaque())
        return wakeups
    }

    private init() {}

    /// Makes the wake-ups that were kept back.
    public func deliver() {
        if count > 0 { deliverAll() }
    }

    /// Makes those that are left; what follows on this thread wakes at once.
    public func end() {
        deliver()
        pthread_setspecific(Self.key, nil)
        Unmanaged.passUnretained(self).release()
    }

    private func deliverAll() {
        count = 0
        for queue in queues { queue.wake() }
        queues.removeAll(keepingCapacity: true)
    }

    /// Something lies in this queue.
    static func note(_ queue: any Wakeable) {
        guard let pointer = pthread_getspecific(key) else { return queue.wake() }
        Unmanaged<CoalescedWakeups>.fromOpaque(pointer).takeUnretainedValue().note(queue)
    }

    private func note(_ queue: any Wakeable) {
        count += 1
        if !queues.contains(where: { $0 === queue }) { queues.append(queue) }
        if count >= Self.most { deliverAll() }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        // Fails only when a process has over a thousand keys.
        precondition(pthread_key_create(&key, nil) == 0, "no key for thread-local storage")
        return key
    }()
}

/// A thing on which threads wait.
protocol Wakeable: AnyObject {
    /// Wakes as many as there is something for.
    func wake()
}

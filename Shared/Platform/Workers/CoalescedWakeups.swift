import Glibc

/// The wake-ups of other threads that a thread delays until it has queued all its work for them. So a waiting
/// thread takes all of it at once, and not the first element alone.
///
/// Event loops do this: the messages of one turn become one commit. A database's writer does it, too: a loop gets the
/// events and replies of one commit in one turn. Other threads wake waiting threads at once.
public final class CoalescedWakeups {
    private var queues: [any Wakeable] = []
    private var count = 0

    /// The number of elements for waiting threads after which wake-ups are delivered, so that the work begins. A loop is
    /// noted once, however much it is given.
    private static let most = 32

    public init() {}

    /// Starts to delay the calling thread's wake-ups, until `end`. The thread must call `deliver` whenever it has
    /// finished some work, and keeps this object meanwhile.
    public func begin() { pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque()) }

    /// Delivers the delayed wake-ups.
    public func deliver() {
        if count > 0 { deliverAll() }
    }

    /// Delivers the remaining wake-ups; later ones on this thread take effect at once.
    public func end() {
        deliver()
        pthread_setspecific(Self.key, nil)
    }

    private func deliverAll() {
        count = 0
        for queue in queues { queue.wake() }
        queues.removeAll(keepingCapacity: true)
    }

    /// Notes that this queue has an element.
    package static func note(_ queue: any Wakeable) {
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

/// A queue on which threads wait.
package protocol Wakeable: AnyObject {
    /// Wakes one thread for one element, and all waiting threads for more.
    func wake()
}

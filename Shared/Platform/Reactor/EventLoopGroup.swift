import CParlorLinux
import Glibc
import ParlorWorkers
import Synchronization

/// The event loops of a process.
///
/// They run until `shutdown`; releasing the group does not end its threads.
public final class EventLoopGroup: Sendable {
    public let loops: [EventLoop]
    private let threads: Mutex<[Thread]>
    private let turn = Atomic<Int>(0)

    /// Starts the loops, each on a thread of its own.
    ///
    /// - Parameter loopCount: the number of loops; by default one for each processor that this process may
    ///   use.
    public init(loopCount: Int = EventLoopGroup.availableProcessors) throws(SystemError) {
        precondition(loopCount > 0)
        // Name lookups are few, as only outgoing connections need them. The resolver's threads end when the
        // last loop is released, which a lookup in progress delays.
        let resolver = WorkerPool(named: "resolver", threads: 2, maxWaiting: 64)
        var loops: [EventLoop] = []
        for index in 0..<loopCount { loops.append(try EventLoop(index: index, resolver: resolver)) }
        self.loops = loops
        threads = Mutex([])
        do throws(SystemError) {
            for loop in loops {
                let thread = try Thread.start(name: "loop-\(loop.index)") { loop.run() }
                threads.withLock { $0.append(thread) }
            }
        } catch {
            shutdown()
            throw error
        }
    }

    /// Returns the loops in turn.
    public func next() -> EventLoop {
        let number = turn.wrappingAdd(1, ordering: .relaxed).oldValue
        return loops[Int(UInt(bitPattern: number) % UInt(loops.count))]
    }

    /// Returns the same loop for the same key, while the process lives.
    public func loop(forKey key: some Hashable) -> EventLoop {
        loops[Int(UInt(bitPattern: key.hashValue) % UInt(loops.count))]
    }

    /// Ends all loops: queued work is done, connections are closed and their handlers notified, then the
    /// threads end.
    ///
    /// Blocks until then, and must not be called on a loop. Calling it again does nothing. Tasks that are
    /// still bound to a loop do not continue, so wait for them first.
    public func shutdown() {
        precondition(EventLoop.current == nil, "a loop cannot wait for its own end")
        for loop in loops { loop.stop() }
        let ending = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for thread in ending { thread.join() }
    }

    /// The number of processors that this process may use: a container's or `taskset`'s share, not
    /// the machine's.
    public static var availableProcessors: Int {
        var set = cpu_set_t()
        guard sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else { return 1 }
        let count = withUnsafeBytes(of: set) { $0.reduce(0) { $0 + $1.nonzeroBitCount } }
        return max(count, 1)
    }
}

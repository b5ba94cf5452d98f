import CParlorLinux
import Glibc
import ParlorWorkers
import Synchronization

/// A thread with an epoll, which runs connections, timers and tasks one after the other.
///
/// It is a Swift executor. An actor lives on it as a `LoopActor`, and the loop's calls (handlers, timers)
/// enter that actor with `assumeIsolated`, checked and without a hop. A task without an actor runs on it with
/// `Task(executorPreference: loop)`.
///
/// A turn handles, in this order:
/// 1. events
/// 2. calls that an earlier turn or this turn's events left (`inNextTurn`)
/// 3. work and tasks
/// 4. timers
/// 5. `whenIdle`, if there was none of the above
/// 6. `atEndOfTurn`
/// 7. one write for each connection that has output
/// 8. closing notices
///
/// Nothing on a loop may block.
///
/// `inbox`, `threadID` and `counters` are synchronised. All other state is used on the loop's thread only,
/// which every entry checks: that makes this class safe to share.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    /// The loop's index in its group.
    public let index: Int
    public let counters = LoopCounters()

    /// Exclusivity is not checked, because each access reads or writes the whole value.
    @exclusivity(unchecked) private(set) var turnStart = LoopInstant.now()

    /// The limit of work and tasks in a turn, so that they do not starve reads and writes.
    private static let maxJobsPerTurn = 1024
    /// The limit of timers in a turn. Thousands may be due at once, such as the deadlines of one peer's connections.
    private static let maxTimersPerTurn = 64
    /// The number of jobs after which other threads are woken for the work that they were given.
    private static let jobsBetweenWakeups = 64
    /// The limit of how often a turn's end runs. It runs again for output that it causes itself, such as a write in
    /// `channelDidDrain`.
    private static let maxFlushesPerTurn = 4
    /// The capacity that an emptied list keeps, so that a burst does not hold memory for ever.
    private static let keptCapacity = 16 * 1024

    let poller: Poller
    let resolver: WorkerPool
    var timers = TimerQueue()
    /// The buffer for the input of all connections: an idle connection holds none.
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 64)
    /// Unchecked: an access calls nothing back, and there is one for each delivery.
    @exclusivity(unchecked) var turnOutput = TurnOutput()
    /// The buffer in which small pieces of output are joined before they are written.
    let writeBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 64)

    let inbox = Mutex(Inbox())
    private let threadID = Atomic<UInt>(0)
    private var batch: [Job] = []
    private var nextInBatch = 0
    private var endOfTurn: [() -> Void] = []
    private var whenIdle: [() -> Void] = []
    private var nextTurn: [() -> Void] = []
    /// The number of channels that have sent FIN and wait for the peer's (`Channel.maxLingering`).
    var lingeringChannels = 0
    /// Unchecked: accesses append or swap and call nothing back, and there is one for each delivery.
    @exclusivity(unchecked) private var unflushed: [Channel] = []
    /// The channels whose gate was closed when they were to be flushed.
    private var held: [Channel] = []
    private var spareList: [Channel] = []
    private var unnoticed: [Channel] = []

    /// The work that other threads hand to the loop.
    struct Inbox {
        var jobs: [Job] = []
        /// True if the loop waits in epoll, or is about to, so that the next job has to wake it.
        var isAsleep = false
        var isStopping = false
        /// True once no other turn will run.
        var hasEnded = false
    }

    enum Job {
        case task(UnownedJob)
        case work(@Sendable () -> Void)
        case entry(any Resident, Entry)
    }

    /// An actor of this loop. Each `Entry` takes the actor that it was made for, and no other
    /// (`LoopActor.enqueue`).
    typealias Resident = AnyObject & Sendable
    typealias Entry = @Sendable (any Resident) -> Void

    init(index: Int, resolver: WorkerPool) throws(SystemError) {
        self.index = index
        self.resolver = resolver
        poller = try Poller()
    }

    deinit {
        readBuffer.deallocate()
        writeBuffer.deallocate()
        turnOutput.deallocate()
    }

    /// True if the caller runs on this loop's thread.
    public var isCurrent: Bool {
        @inline(__always) get { threadID.load(ordering: .relaxed) == UInt(pthread_self()) }
    }

    @inline(__always) func preconditionCurrent() {
        precondition(isCurrent, "called outside of its event loop")
    }

    /// The monotonic clock at the arrival of this turn's events. On the loop only.
    public var now: LoopInstant {
        preconditionCurrent()
        return turnStart
    }

    /// Calls a closure on the loop after `delay`: never earlier, and at most a millisecond later unless the loop
    /// is busy.
    ///
    /// On the loop only. Closures that are due at the same instant are called in the order they were
    /// scheduled.
    @discardableResult
    public func schedule(after delay: Duration, _ work: @escaping () -> Void) -> LoopTimer {
        preconditionCurrent()
        let timer = LoopTimer(loop: self, work: work)
        timers.arm(timer, at: .now() + delay)
        return timer
    }

    /// Calls a closure once, when this turn's events, tasks and timers are done and before its output is
    /// written. Use it to combine a turn's results. On the loop only.
    public func atEndOfTurn(_ work: @escaping () -> Void) {
        preconditionCurrent()
        endOfTurn.append(work)
    }

    /// Calls a closure once, after a turn without events, work, tasks or timers. Use it for work that may wait
    /// until there is no other work, even for ever. Closures are called in order, on the loop only. If a closure
    /// registers another one, that one is called after the next such turn, which follows at once.
    public func whenIdle(_ work: @escaping () -> Void) {
        preconditionCurrent()
        whenIdle.append(work)
    }

    /// Calls a closure once. If an event of this turn registers it, it is called after this turn's events, otherwise
    /// after those of the next turn. Use it for work that has used up its share of this turn. Closures are called in
    /// order, on the loop only.
    public func inNextTurn(_ work: @escaping () -> Void) {
        preconditionCurrent()
        nextTurn.append(work)
    }

    // MARK: - The turn

    /// Runs turns until `stop`, on the thread that the loop then owns.
    func run() {
        threadID.store(UInt(pthread_self()), ordering: .relaxed)
        pthread_setspecific(currentLoopKey, Unmanaged.passUnretained(self).toOpaque())
        let wakeups = CoalescedWakeups()
        wakeups.begin()
        while !inbox.withLock({ $0.isStopping }) { turn(wakeups) }
        end()
        wakeups.end()
        threadID.store(0, ordering: .relaxed)
    }

    /// Stops the loop. From any thread; returns at once.
    func stop() {
        let wakes = inbox.withLock { inbox in
            inbox.isStopping = true
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if wakes { poller.wake() }
    }

    private func turn(_ wakeups: CoalescedWakeups) {
        let hadEvents = poller.poll(milliseconds: timeout()) {
            turnStart = .now()
            counters.turns.increment()
            // Jobs that the events submit need no wake-up.
            inbox.withLock { $0.isAsleep = false }
        }
        let hadRest = !nextTurn.isEmpty
        if hadRest { for work in take(&nextTurn) { work() } }
        let hadJobs = runJobs(wakeups) || hadRest
        let hadTimers = fireTimers()
        if !hadEvents, !hadJobs, !hadTimers, !whenIdle.isEmpty { for work in take(&whenIdle) { work() } }
        // Deliver before the writes, which may take long.
        wakeups.deliver()
        finishTurn()
        wakeups.deliver()
    }

    /// True if the turn left work for the next one.
    private var hasRest: Bool {
        nextInBatch < batch.count || !whenIdle.isEmpty || !nextTurn.isEmpty || !endOfTurn.isEmpty || !unflushed.isEmpty
            || !unnoticed.isEmpty
    }

    private func timeout() -> Int32 {
        let hasRest = hasRest
        let sleeps = inbox.withLock { inbox in
            inbox.isAsleep = !hasRest && inbox.jobs.isEmpty && !inbox.isStopping
            return inbox.isAsleep
        }
        guard sleeps else { return 0 }
        guard let deadline = timers.nextDeadline else { return -1 }
        let current = LoopInstant.now()
        guard deadline > current else { return 0 }
        // Rounded up, as a timer is never early. At most a minute, so that the sum fits.
        let nanoseconds = min(deadline.nanoseconds - current.nanoseconds, 60_000_000_000)
        return Int32((nanoseconds + 999_999) / 1_000_000)
    }

    /// - Returns: true if there were any.
    @discardableResult
    private func runJobs(_ wakeups: CoalescedWakeups? = nil) -> Bool {
        var left = Self.maxJobsPerTurn
        while left > 0 {
            if nextInBatch == batch.count {
                if batch.capacity > Self.keptCapacity { batch = [] } else { batch.removeAll(keepingCapacity: true) }
                nextInBatch = 0
                inbox.withLock { swap(&$0.jobs, &batch) }
                if batch.isEmpty { return left < Self.maxJobsPerTurn }
            }
            let job = batch[nextInBatch]
            nextInBatch += 1
            left -= 1
            if left.isMultiple(of: Self.jobsBetweenWakeups) { wakeups?.deliver() }
            switch job {
            case .work(let work): work()
            case .entry(let actor, let work): work(actor)
            case .task(let task):
                task.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            }
        }
        return true
    }

    /// - Returns: true if any was due.
    private func fireTimers() -> Bool {
        guard let deadline = timers.nextDeadline else { return false }
        let current = LoopInstant.now()
        guard deadline <= current else { return false }
        let limit = timers.latest
        var left = Self.maxTimersPerTurn
        while left > 0, let timer = timers.popDue(at: current, armedUpTo: limit) {
            left -= 1
            timer.work?()
        }
        return left < Self.maxTimersPerTurn
    }

    private func finishTurn() {
        for _ in 0..<Self.maxFlushesPerTurn {
            if endOfTurn.isEmpty, unflushed.isEmpty, unnoticed.isEmpty { return }
            for work in take(&endOfTurn) { work() }
            flush()
            for channel in take(&unnoticed) { channel.noticeClose() }
        }
    }

    /// Writes once for each channel that has output. The two lists are swapped, so that a turn allocates
    /// none.
    private func flush() {
        guard !unflushed.isEmpty else { return }
        var flushing: [Channel] = []
        swap(&flushing, &spareList)
        swap(&flushing, &unflushed)
        for channel in flushing { channel.flush() }
        if flushing.capacity > Self.keptCapacity { flushing = [] } else { flushing.removeAll(keepingCapacity: true) }
        swap(&flushing, &spareList)
        if unflushed.isEmpty { turnOutput.reset() }
    }

    private func take<T>(_ list: inout [T]) -> [T] {
        var taken: [T] = []
        swap(&taken, &list)
        return taken
    }

    func flushAtEndOfTurn(_ channel: Channel) { unflushed.append(channel) }

    /// Tries to flush a channel again soon, as its gate is closed.
    func hold(_ channel: Channel) {
        channel.awaitsGate = true
        held.append(channel)
        guard held.count == 1 else { return }
        schedule(after: OutputGate.retryInterval) { [self] in
            for channel in take(&held) {
                channel.awaitsGate = false
                unflushed.append(channel)
            }
        }
    }

    func noticeCloseAtEndOfTurn(_ channel: Channel) { unnoticed.append(channel) }

    /// Completes and writes everything queued, then releases every source.
    private func end() {
        // Closing notices create work for actors here, which may create more. The limit ends a loop that
        // creates work without end.
        for _ in 0..<Self.maxJobsPerTurn {
            for work in take(&nextTurn) { work() }
            for work in take(&whenIdle) { work() }
            finishTurn()
            let sources = poller.sources
            for source in sources { source.loopWillStop() }
            runJobs()
            let isDone = inbox.withLock { inbox in
                inbox.hasEnded = sources.isEmpty && inbox.jobs.isEmpty && !hasRest
                return inbox.hasEnded
            }
            if isDone { break }
        }
        let dropped = inbox.withLock { inbox in
            inbox.hasEnded = true
            defer { inbox.jobs = [] }
            return inbox.jobs
        }
        withExtendedLifetime((dropped, timers.removeAll())) {}
    }
}

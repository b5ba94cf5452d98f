import Glibc
import Reactor

/// Shares a loop's time out among addresses: none may use more than its share of it for having its requests and messages taken.
///
/// What is over the share waits, in the order it came. So an address with a thousand connections gets no more done than one with a
/// single one, others are served meanwhile, and the threads beside the loop have the core for the rest of the time.
///
/// It counts as the generic cell rate algorithm does (ITU-T I.371): one time for each address.
final class TimeShares {
    /// The loop time that an address may use at once after it was idle.
    private static let burst: Duration = .milliseconds(1)
    /// A step of work that takes longer is checked against the thread's own time, as the thread may not have run all the while.
    private static let longStep: Duration = .milliseconds(2)
    /// How long the thread's own time is as good as new. It takes a system call.
    private static let markInterval: Duration = .milliseconds(1)
    /// What received bytes cost beside the work: the kernel's part, and copies.
    private static let nanosecondsPerKilobyte = 500

    fileprivate final class Share {
        /// When all that was used is paid for.
        var paid = LoopInstant(nanoseconds: 0)
        var waiting: [() -> Void] = []
        /// A timer is set for those that wait, or they are being called.
        var isWaking = false
    }

    /// The work of one call, measured.
    struct Interval {
        /// nil where nothing is measured.
        fileprivate let shares: TimeShares?
        /// Whose share it is of; nil where nobody's is used.
        private(set) var address: IPAddress?
        private var share: Share?
        fileprivate var began: LoopInstant
        /// What was used before it began, and is not counted yet.
        fileprivate var before: Duration = .zero
        /// The address has had its share: that stands for the rest of the interval, however long the thread does not run. Whoever
        /// asks twice, to stop and then to wait, gets one answer.
        private var isOver = false

        fileprivate init(_ shares: TimeShares?, of address: IPAddress?, began: LoopInstant, before: Duration) {
            (self.shares, self.began, self.before) = (shares, began, before)
            pass(to: address)
        }

        /// The rest is another's, and so is what nobody's share was used for until now.
        mutating func pass(to address: IPAddress?) {
            _ = goesOn()
            guard let shares, self.address != address else { return }
            isOver = false
            self.address = address
            share = address.map(shares.share)
        }

        /// Counts the time since it was asked last.
        ///
        /// - Returns: false if the address has had its share. `TimeShares.wait` says when there is more.
        mutating func goesOn() -> Bool {
            guard let shares, let share else { return true }
            if isOver { return false }
            let now = LoopInstant.now()
            let used = shares.worked(since: began, until: now) + before
            share.paid = max(share.paid, began) + used * 100 / shares.percent
            before = .zero
            began = now
            isOver = share.paid > now + shares.allowance
            return !isOver
        }
    }

    private let loop: EventLoop
    /// A unit of time that is used is paid for with 100 / percent of time that passes.
    private let percent: Int
    private let allowance: Duration
    private let isOn: Bool
    private var shares: [IPAddress: Share] = [:]
    /// How long the thread had run, at an instant not long ago.
    private var mark = (at: LoopInstant(nanoseconds: 0), threadTime: Duration.zero)
    private var sizeToPrune = 1024

    /// - Parameter percent: of the loop's time; nil: nobody is limited.
    init(percent: Int?, on loop: EventLoop) {
        self.loop = loop
        isOn = percent != nil
        self.percent = max(percent ?? 100, 1)
        allowance = Self.burst * 100 / self.percent
    }

    /// Begins to measure work for an address; nil where it is not known yet whose it is.
    ///
    /// - Parameter received: bytes that have come since the last interval.
    func begin(for address: IPAddress?, received: Int = 0) -> Interval {
        guard isOn else { return Interval(nil, of: nil, began: loop.now, before: .zero) }
        let now = LoopInstant.now()
        if now - mark.at > Self.markInterval { mark = (now, Self.threadTime()) }
        let receiving = Duration.nanoseconds(received * Self.nanosecondsPerKilobyte / 1024)
        return Interval(self, of: address, began: now, before: receiving)
    }

    /// For how long the calling thread has run.
    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private func worked(since began: LoopInstant, until now: LoopInstant) -> Duration {
        let step = now - began
        return step < Self.longStep ? step : min(step, Self.threadTime() - mark.threadTime)
    }

    /// Makes a call once the address has something left of its share, after those that wait already.
    func wait(for address: IPAddress?, _ work: @escaping () -> Void) {
        guard isOn, let address else { return loop.inNextTurn(work) }
        let share = share(of: address)
        share.waiting.append(work)
        if !share.isWaking { wakeLater(share) }
    }

    private func wakeLater(_ share: Share) {
        share.isWaking = true
        let left = share.paid - (.now() + allowance)
        // Half of the allowance, so that a wake-up is worth its while.
        loop.schedule(after: max(left, .zero) + allowance / 2) { [self] in wake(share) }
    }

    private func wake(_ share: Share) {
        let waiting = share.waiting
        share.waiting = []
        var next = 0
        while next < waiting.count, share.paid <= .now() + allowance {
            waiting[next]()
            next += 1
        }
        // Those that have had their turn, and want another, come after those that have not.
        share.waiting = waiting[next...] + share.waiting
        share.isWaking = false
        if !share.waiting.isEmpty { wakeLater(share) }
    }

    fileprivate func share(of address: IPAddress) -> Share {
        if let share = shares[address] { return share }
        if shares.count >= sizeToPrune { prune() }
        let share = Share()
        shares[address] = share
        return share
    }

    /// Forgets addresses that are as new. Connections bound the others.
    private func prune() {
        let now = LoopInstant.now()
        shares = shares.filter { !$0.value.waiting.isEmpty || $0.value.paid > now }
        sizeToPrune = max(1024, shares.count * 2)
    }
}

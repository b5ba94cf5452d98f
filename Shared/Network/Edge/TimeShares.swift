import Glibc
import ParlorReactor

/// Shares a loop's time among addresses: none may use more than its share to have its requests and messages
/// processed.
///
/// Work over the share waits, in order of arrival. So an address with a thousand connections gets no more
/// done than an address with one. Other addresses are served meanwhile. If none has work, other threads can
/// use the core.
///
/// The algorithm is the generic cell rate algorithm (ITU-T I.371), with one time for each address.
final class TimeShares {
    /// The loop time that an address may use at once after it was idle.
    private static let burst: Duration = .milliseconds(1)
    /// The duration from which a step is checked against the thread's CPU time, as the thread may have been
    /// preempted.
    private static let longStep: Duration = .milliseconds(2)
    /// The time for which a reading of the thread's CPU time is precise enough. A reading takes a system
    /// call.
    private static let markInterval: Duration = .milliseconds(1)
    /// The duration of a turn after which at most one more address continues in it. Others continue in the next turns, as
    /// many addresses may have some of their shares again at once.
    private static let wakeTime: Duration = .milliseconds(1)
    /// The cost of received bytes besides the work: the kernel's part, and copies.
    private static let nanosecondsPerKilobyte = 500

    fileprivate final class Share {
        /// The instant at which all used time is paid for.
        var paid = LoopInstant(nanoseconds: 0)
        var waiting: [() -> Void] = []
        /// True if a timer is set for those that wait, or they are being called.
        var isWaking = false
    }

    /// A measurement of the work of one call.
    struct Interval {
        /// The shares to charge, or nil if nothing is measured.
        fileprivate let shares: TimeShares?
        /// The address whose share is charged, or nil if none is.
        private(set) var address: IPAddress?
        private var share: Share?
        fileprivate var began: LoopInstant
        /// The time that was used before the interval began and is not counted yet.
        fileprivate var before: Duration = .zero
        /// True once the address has used its share. It stays true for the rest of the interval, however long
        /// the thread is preempted. So code that asks twice, to stop and then to wait, gets the same answer.
        private var isOver = false

        fileprivate init(_ shares: TimeShares?, of address: IPAddress?, began: LoopInstant, before: Duration) {
            (self.shares, self.began, self.before) = (shares, began, before)
            pass(to: address)
        }

        /// Charges the rest of the interval to another address. Time that has not been charged to
        /// any address yet is charged to it as well.
        mutating func pass(to address: IPAddress?) {
            _ = goesOn()
            guard let shares, self.address != address else { return }
            isOver = false
            self.address = address
            share = address.map(shares.share)
        }

        /// Charges the time since the last call.
        ///
        /// - Returns: false if the address has used its share. `TimeShares.wait` calls a closure when there is some
        ///   again.
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
    /// The percentage of time that an address may use. To pay for a unit of used time, 100 / percent units must
    /// elapse.
    private let percent: Int
    private let allowance: Duration
    private let isOn: Bool
    private var shares: [IPAddress: Share] = [:]
    /// A recent instant, and the CPU time of the thread then.
    private var mark = (at: LoopInstant(nanoseconds: 0), threadTime: Duration.zero)
    private var sizeToPrune = 1024
    /// The start of the turn in which an address continued last.
    private var lastWakeTurn = LoopInstant(nanoseconds: 0)

    /// - Parameter percent: the share of the loop's time; nil: no limit.
    init(percent: Int?, on loop: EventLoop) {
        self.loop = loop
        isOn = percent != nil
        self.percent = max(percent ?? 100, 1)
        allowance = Self.burst * 100 / self.percent
    }

    /// Begins to measure work for an address. Pass nil while the address is not known.
    ///
    /// - Parameter received: bytes that have arrived since the last interval.
    func begin(for address: IPAddress?, received: Int = 0) -> Interval {
        guard isOn else { return Interval(nil, of: nil, began: loop.now, before: .zero) }
        let now = LoopInstant.now()
        if now - mark.at > Self.markInterval { mark = (now, Self.threadTime()) }
        let receiving = Duration.nanoseconds(received * Self.nanosecondsPerKilobyte / 1024)
        return Interval(self, of: address, began: now, before: receiving)
    }

    /// Returns the CPU time of the calling thread.
    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private func worked(since began: LoopInstant, until now: LoopInstant) -> Duration {
        let step = now - began
        return step < Self.longStep ? step : min(step, Self.threadTime() - mark.threadTime)
    }

    /// Calls a closure once the address has some of its share again, after the closures that already wait. If there is
    /// no limit or no address, calls it in the loop's next turn.
    func wait(for address: IPAddress?, _ work: @escaping () -> Void) {
        guard isOn, let address else { return loop.inNextTurn(work) }
        let share = share(of: address)
        share.waiting.append(work)
        if !share.isWaking { wakeLater(share) }
    }

    /// Does work and charges it to an address: at once if the address has some of its share left, otherwise once it
    /// has again.
    func perform(for address: IPAddress?, _ work: @escaping () -> Void) {
        var interval = begin(for: address)
        guard interval.goesOn() else { return wait(for: address) { [self] in perform(for: address, work) } }
        work()
        _ = interval.goesOn()
    }

    private func wakeLater(_ share: Share) {
        share.isWaking = true
        let left = share.paid - (.now() + allowance)
        // Wait until half of the allowance is free, so that each wake-up can do some work.
        loop.schedule(after: max(left, .zero) + allowance / 2) { [self] in wake(share) }
    }

    private func wake(_ share: Share) {
        if lastWakeTurn == loop.now, LoopInstant.now() - loop.now > Self.wakeTime {
            return loop.inNextTurn { [self] in wake(share) }
        }
        lastWakeTurn = loop.now
        let waiting = share.waiting
        share.waiting = []
        var next = 0
        while next < waiting.count, share.paid <= .now() + allowance {
            waiting[next]()
            next += 1
        }
        // Those that had a turn and want another come after those that did not.
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

    /// Removes addresses that have no time left to pay for. The limit of connections bounds the number of
    /// addresses that stay.
    private func prune() {
        let now = LoopInstant.now()
        shares = shares.filter { !$0.value.waiting.isEmpty || $0.value.paid > now }
        sizeToPrune = max(1024, shares.count * 2)
    }
}

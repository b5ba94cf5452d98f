import Reactor
import SocketIO

/// All sockets of a loop.
protocol BroadcastReceivers: AnyObject {
    var count: Int { get }
    func send(_ batch: OutgoingBatch)
}

/// When `:global` events are coalesced, and for how long.
package struct BroadcastPacing: Sendable {
    /// With more sockets than these on a loop, each broadcast is followed by a pause. To write to so many takes about a millisecond.
    package var threshold = 256
    /// The pause, in times of what the broadcast took, and its bounds.
    package var pauseFactor = 4
    package var minimumPause: Duration = .zero
    package var maximumPause: Duration = .milliseconds(500)
    /// In times of what the broadcast took, too: the pause may end after the first while something is under way, for what has come meanwhile
    /// to be read, and after the second once the loop is idle. Broadcasts take twenty twenty-firsts of a loop's time at most, and half of it
    /// while something is under way.
    package var earlyEndFactor = 0.05
    package var idleEndFactor = 1.0
    /// A pause ends early only if nobody has connected, joined or asked over HTTP for so long.
    package var quietPeriod: Duration = .milliseconds(100)

    package init() {}
}

/// Sends `:global` events to all sockets of a loop: at once to few, and to many with a pause after each time. What comes meanwhile is
/// coalesced: it goes out together, in order.
///
/// To write to thousands of sockets takes tens of milliseconds, nearly all of it system calls, one for each socket however much it is sent.
/// So with pauses, senders and people in rooms seldom wait behind a broadcast.
///
/// Where nothing is under way a pause spares few, and what is under way will mostly have to be broadcast, too: so a pause ends when the last of
/// it is done, and those who had an event a moment ago have their next one together. But a loop that waits for services on behalf of people who
/// come back, thousands at once after an outage, only looks idle: a broadcast would take the core that those services need.
///
/// It stays on its loop.
final class BroadcastThrottle<Receivers: BroadcastReceivers> {
    private enum State {
        /// The next event is broadcast at once.
        case ready
        /// From when a broadcast is due at the end of the turn until its output is written.
        case broadcasting
        case pausing(until: LoopTimer)
    }

    private let loop: EventLoop
    private let receivers: Receivers
    private let pacing: BroadcastPacing
    private let isBusy: () -> Bool
    private var state = State.ready
    private var packets: [OutgoingPacket] = []
    private var byteCount = 0
    /// The duration of the last broadcast, and the time at which its output was written.
    private var lastDuration: Duration = .zero
    private var lastEnd = LoopInstant(nanoseconds: 0)
    /// True if the end of this turn, or the loop's next idle turn, checks if the pause can end.
    private var isLooking = false
    private var awaitsIdleTurn = false
    /// The sockets are about to be closed: nothing can wait.
    private var isEnding = false
    private var lastVisit = LoopInstant(nanoseconds: 0)

    /// It goes out, pause or not: much more at a time would make slow readers of everyone.
    private static var maxPendingBytes: Int { 64 * 1024 }

    /// - Parameter isBusy: whether something that was asked on the loop is not answered yet.
    init(on loop: EventLoop, to receivers: Receivers, _ pacing: BroadcastPacing, isBusy: @escaping () -> Bool) {
        self.loop = loop
        self.receivers = receivers
        self.pacing = pacing
        self.isBusy = isBusy
    }

    /// Somebody connected, joined or asked for something that takes more than an ack.
    func noteVisit() { lastVisit = loop.now }

    /// Sends to every socket, now or when the pause is over, in the order of the calls.
    func broadcast(_ packet: OutgoingPacket) {
        packets.append(packet)
        byteCount += packet.bytes.count
        switch state {
        case .broadcasting, .pausing:
            if byteCount > Self.maxPendingBytes { sendAll() } else { endPauseIfAllIsDone() }
        case .ready where isEnding || receivers.count <= pacing.threshold: sendAll()
        case .ready: broadcastAtEndOfTurn()
        }
    }

    /// Sends what waits, and from then on everything at once: the sockets are about to be closed.
    func end() {
        isEnding = true
        if case .pausing(let timer) = state { timer.cancel() }
        state = .ready
        sendAll()
    }

    private func sendAll() {
        guard !packets.isEmpty else { return }
        let batch = OutgoingBatch(packets)
        (packets, byteCount) = ([], 0)
        receivers.send(batch)
    }

    /// Sends all that this turn brings, at its end.
    private func broadcastAtEndOfTurn() {
        state = .broadcasting
        loop.atEndOfTurn { [weak self] in
            guard let self else { return }
            let start = LoopInstant.now()
            sendAll()
            // It comes in the next turn, which begins when this one's output is written.
            loop.schedule(after: .zero) { [weak self] in self?.pause(after: .now() - start) }
        }
    }

    private func pause(after duration: Duration) {
        guard case .broadcasting = state else { return }
        let pause = min(max(duration * pacing.pauseFactor, pacing.minimumPause), pacing.maximumPause)
        state = .pausing(until: loop.schedule(after: pause) { [weak self] in self?.endPause() })
        (lastDuration, lastEnd) = (duration, .now())
        // One that comes late, in the next pause, finds that it is too early for that.
        loop.schedule(after: duration * pacing.earlyEndFactor) { [weak self] in self?.endPauseIfAllIsDone() }
        loop.schedule(after: duration * pacing.idleEndFactor) { [weak self] in self?.endPauseWhenIdle() }
    }

    /// True if the pause has lasted this many times as long as the last broadcast. False during a
    /// broadcast.
    private func hasPaused(_ factor: Double) -> Bool {
        if case .pausing = state { LoopInstant.now() - lastEnd >= lastDuration * factor } else { false }
    }

    /// Nobody has come of late.
    private var isQuiet: Bool { loop.now - lastVisit >= pacing.quietPeriod }

    private func endPauseWhenIdle() {
        guard !awaitsIdleTurn else { return }
        awaitsIdleTurn = true
        loop.whenIdle { [weak self] in
            guard let self else { return }
            awaitsIdleTurn = false
            // Somebody may have come since, or it is another pause.
            if hasPaused(pacing.idleEndFactor), isQuiet { endPause() }
        }
    }

    /// Ends the pause with this turn, if the minimum rest is over, nobody has come of late, and nothing is under way then whose echo could be
    /// sent with what waits. To be called, too, when the last of what was under way is done.
    func endPauseIfAllIsDone() {
        guard !isLooking, !packets.isEmpty, hasPaused(pacing.earlyEndFactor) else { return }
        isLooking = true
        loop.atEndOfTurn { [weak self] in
            guard let self else { return }
            isLooking = false
            if !isBusy(), isQuiet { endPause() }
        }
    }

    private func endPause() {
        guard case .pausing(let timer) = state else { return }
        timer.cancel()
        state = .ready
        if !packets.isEmpty { broadcastAtEndOfTurn() }
    }
}

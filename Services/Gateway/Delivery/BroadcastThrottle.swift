import ParlorReactor
import ParlorSocketIO

/// The sockets of a loop.
protocol BroadcastReceivers: AnyObject {
    associatedtype Receiver
    var everyone: [Receiver] { get }
    /// Sends to these, except those that have left since.
    func send(_ batch: OutgoingBatch, to receivers: ArraySlice<Receiver>)
}

/// The parameters of the throttle of `:global` events.
package struct BroadcastPacing: Sendable {
    /// The number of sockets on a loop above which each broadcast is followed by a pause. Writing to that
    /// many takes about a millisecond.
    package var threshold = 256
    /// The most sockets that a broadcast writes to in one turn of the loop, and the least. In between, a part takes
    /// about `partTime`: with many events in a batch, a socket takes longer.
    package var part = 16...256
    package var partTime: Duration = .milliseconds(2)
    /// The length of the pause as a multiple of the broadcast's duration, and its bounds.
    package var pauseFactor = 4
    package var minimumPause: Duration = .zero
    package var maximumPause: Duration = .milliseconds(500)
    /// The shortest pause if no request is in progress, as a multiple of the broadcast's duration. So broadcasts
    /// take at most 20/21 of a loop's time.
    package var earlyEndFactor = 0.05
    /// The shortest pause if the loop is idle, as a multiple of the broadcast's duration. So broadcasts take at
    /// most half of a loop's time while requests are in progress.
    package var idleEndFactor = 1.0
    /// The duration above which no pause is shorter than `longEndFactor` times the broadcast. So broadcasts to thousands of
    /// sockets take at most a quarter of a loop's time, and three of four messages wait for none.
    package var longBroadcast: Duration = .milliseconds(30)
    package var longEndFactor = 3.0
    /// The time without connects, joins and HTTP requests that is required to end a pause early.
    package var quietPeriod: Duration = .milliseconds(100)

    package init() {}
}

/// Sends `:global` events to all sockets of a loop: at once to few sockets, and to many with a pause after
/// each broadcast. Events during a pause are coalesced: they are sent together, in order.
///
/// Writing to thousands of sockets takes tens of milliseconds. Nearly all of it goes into system calls: one for each
/// socket, however many bytes it writes. With pauses, senders and people in rooms seldom wait for a broadcast. And it is
/// written in parts, one in each turn of the loop, so those who do wait for a part only.
///
/// A turn that writes to half of the sockets anyway, such as to those in one room, ends the pause, and has no parts: in
/// it, events to all take hardly more system calls.
///
/// A pause protects the requests in progress, so it ends early when the last of them is done. Most requests
/// cause a broadcast, and these are then sent together.
///
/// A pause does not end early while clients connect. After an outage, a loop with thousands of reconnecting clients
/// waits for services, and looks idle. But a broadcast would take the core that those services need.
///
/// It stays on its loop.
final class BroadcastThrottle<Receivers: BroadcastReceivers> {
    private enum State {
        /// The next event is broadcast at once.
        case ready
        /// A broadcast is due at the end of the turn, or its output is being written.
        case broadcasting
        case pausing(until: LoopTimer)
    }

    /// A broadcast of which some sockets have yet to get their part.
    private struct Round {
        let batch: OutgoingBatch
        let receivers: ArraySlice<Receivers.Receiver>
    }

    private let loop: EventLoop
    private let receivers: Receivers
    private let pacing: BroadcastPacing
    private let isBusy: () -> Bool
    private var state = State.ready
    private var packets: [OutgoingPacket] = []
    private var byteCount = 0
    private var round: Round?
    /// The number of sockets of the next part.
    private var partCount: Int
    /// The start of the last turn that writes to half of the sockets.
    private var lastWideTurn = LoopInstant(nanoseconds: 0)
    /// The time that the last broadcast took, without what the loop did between its parts; and the time at which its output
    /// was written.
    private var lastDuration: Duration = .zero
    private var lastEnd = LoopInstant(nanoseconds: 0)
    /// True if the end of this turn, or the loop's next idle turn, will check whether the pause can end.
    private var isLooking = false
    private var awaitsIdleTurn = false
    /// True if the sockets are about to be closed, so that nothing can wait.
    private var isEnding = false
    private var lastVisit = LoopInstant(nanoseconds: 0)

    /// The delayed bytes that end a pause: with much more at once, every client would become a slow reader.
    private static var maxDelayedBytes: Int { 64 * 1024 }
    /// The delayed bytes at which events do not even wait for the rest of the broadcast before them.
    private static var maxBytesOfRound: Int { 4 * maxDelayedBytes }

    /// - Parameter isBusy: returns true while a request on the loop is unanswered.
    init(on loop: EventLoop, to receivers: Receivers, _ pacing: BroadcastPacing, isBusy: @escaping () -> Bool) {
        self.loop = loop
        self.receivers = receivers
        self.pacing = pacing
        self.isBusy = isBusy
        partCount = pacing.part.upperBound
    }

    /// Notes that a client connected, joined or sent an HTTP request.
    func noteVisit() { lastVisit = loop.now }

    /// Sends to every socket, now or after the pause, in the order of the calls.
    func broadcast(_ packet: OutgoingPacket) {
        packets.append(packet)
        byteCount += packet.bytes.count
        switch state {
        case .broadcasting: if byteCount > Self.maxBytesOfRound { sendAll() }
        case .pausing: if byteCount > Self.maxDelayedBytes { endPause() } else { endPauseIfAllIsDone() }
        case .ready where isEnding || receivers.everyone.count <= pacing.threshold: sendAll()
        case .ready: broadcastAtEndOfTurn()
        }
    }

    /// Notes that this turn writes to so many sockets. If they are half of all, pending events go out at its end.
    func noteWrites(to count: Int) {
        guard count > pacing.threshold, 2 * count >= receivers.everyone.count else { return }
        lastWideTurn = loop.now
        sendRest()
        endPause()
    }

    /// Sends the pending events, and later ones at once, as the sockets are about to be closed.
    func end() {
        isEnding = true
        if case .pausing(let timer) = state { timer.cancel() }
        state = .ready
        sendAll()
    }

    /// Sends the pending events to all sockets now.
    private func sendAll() {
        sendRest()
        beginRound()
        sendRest()
    }

    private func beginRound() {
        guard !packets.isEmpty else { return }
        round = Round(batch: OutgoingBatch(packets), receivers: receivers.everyone[...])
        (packets, byteCount) = ([], 0)
    }

    /// Sends the broadcast to so many of the sockets that have yet to get it.
    private func sendRest(upTo count: Int = .max) {
        guard let current = round.take() else { return }
        receivers.send(current.batch, to: current.receivers.prefix(count))
        let rest = current.receivers.dropFirst(count)
        if !rest.isEmpty { round = Round(batch: current.batch, receivers: rest) }
    }

    /// Sends all events of this turn at its end.
    private func broadcastAtEndOfTurn() {
        state = .broadcasting
        loop.atEndOfTurn { [weak self] in
            guard let self else { return }
            beginRound()
            sendPart(after: .zero)
        }
    }

    /// - Parameter spent: the time that earlier parts took.
    private func sendPart(after spent: Duration) {
        let start = LoopInstant.now()
        sendRest(upTo: lastWideTurn == loop.now ? .max : partCount)
        // The timer fires in the next turn, which begins when this one's output is written.
        loop.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            let took = loop.now - start
            guard round != nil else { return pause(after: spent + took) }
            let count = Double(partCount) * (pacing.partTime / max(took, .microseconds(1)))
            partCount = min(max(Int(count), pacing.part.lowerBound), pacing.part.upperBound)
            loop.atEndOfTurn { [weak self] in self?.sendPart(after: spent + took) }
        }
    }

    private func pause(after duration: Duration) {
        guard case .broadcasting = state else { return }
        let pause = min(max(duration * pacing.pauseFactor, pacing.minimumPause), pacing.maximumPause)
        state = .pausing(until: loop.schedule(after: pause) { [weak self] in self?.endPause() })
        (lastDuration, lastEnd) = (duration, .now())
        // A timer that fires late, in the next pause, does no harm: `hasPaused` checks the minimum of that pause.
        loop.schedule(after: leastPause(pacing.earlyEndFactor)) { [weak self] in self?.endPauseIfAllIsDone() }
        loop.schedule(after: leastPause(pacing.idleEndFactor)) { [weak self] in self?.endPauseWhenIdle() }
        if byteCount > Self.maxDelayedBytes { endPause() }
    }

    /// Returns the shortest pause after the last broadcast, as this multiple of its duration or more.
    private func leastPause(_ factor: Double) -> Duration {
        lastDuration * (lastDuration > pacing.longBroadcast ? max(factor, pacing.longEndFactor) : factor)
    }

    /// Returns true if the pause has lasted this many times as long as the last broadcast; false if there is no pause.
    private func hasPaused(_ factor: Double) -> Bool {
        if case .pausing = state { LoopInstant.now() - lastEnd >= leastPause(factor) } else { false }
    }

    /// True if no client has connected, joined or sent an HTTP request recently.
    private var isQuiet: Bool { loop.now - lastVisit >= pacing.quietPeriod }

    private func endPauseWhenIdle() {
        guard !awaitsIdleTurn else { return }
        awaitsIdleTurn = true
        loop.whenIdle { [weak self] in
            guard let self else { return }
            awaitsIdleTurn = false
            // A client may have connected since, or another pause may have begun.
            if hasPaused(pacing.idleEndFactor), isQuiet { endPause() }
        }
    }

    /// Ends the pause at the end of this turn, if events are pending and nothing is worth waiting for: the pause's
    /// minimum is over, no client has visited recently (`isQuiet`), and no request is in progress. The event of a
    /// request in progress could be sent together with the pending ones. Call this also when the last request is done.
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

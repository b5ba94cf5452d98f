import ParlorHTTP
import ParlorReactor

/// The deadlines by which a client must send the expected bytes and read its answers, with one timer for
/// both.
struct HTTPDeadline {
    /// The result when the timer fires.
    enum Outcome {
        case notYet
        /// The client took nothing of an answer for `EdgeConfiguration.writeTimeout`.
        case notRead
        /// The expected bytes did not arrive in time.
        case notSent(HTTPRequestParser.Progress)
    }

    private var timer: LoopTimer?
    /// The expected input that the time-out is for. A connection that just opened has to send its first
    /// request.
    private var awaited = HTTPRequestParser.Progress.head
    /// The deadline of the expected input, or nil while a request is answered.
    private var instant: LoopInstant?
    private var timeout = Duration.zero
    private var isExtended = false

    /// - Parameter fire: has to call `fired`.
    mutating func start(after timeout: Duration, on loop: EventLoop, _ fire: @escaping () -> Void) {
        begin(timeout, at: loop.now)
        timer = loop.schedule(after: timeout, fire)
    }

    /// Sets the deadline for a request, or for the rest of one that has begun. Does nothing if a deadline for the same
    /// progress is set already.
    mutating func set(for progress: HTTPRequestParser.Progress, on edge: EdgeLoop, isStalled: Bool) {
        guard instant == nil || progress != awaited else { return }
        awaited = progress
        let timeout: Duration =
            switch progress {
            case .idle: edge.configuration.idleTimeout
            case .head: edge.configuration.headTimeout
            case .body: edge.configuration.bodyTimeout
            }
        begin(timeout, at: edge.loop.now)
        // Fire after the write timeout if that is earlier, to check whether the client reads the last answer.
        if !isStalled { look(after: min(timeout, edge.configuration.writeTimeout)) }
    }

    private mutating func begin(_ timeout: Duration, at now: LoopInstant) {
        self.timeout = timeout
        isExtended = false
        instant = now + timeout
    }

    /// Extends the current deadline by its full length, once.
    ///
    /// - Returns: false if it was extended before.
    mutating func extend() -> Bool {
        if isExtended { return false }
        isExtended = true
        instant = .now() + timeout
        look(after: timeout)
        return true
    }

    /// Ends the wait, as the expected bytes have arrived.
    mutating func end() { instant = nil }

    /// Rearms the timer to call `fired` after this time.
    func look(after delay: Duration) { timer?.rearm(after: delay) }

    /// When the server drains, a connection that was just accepted has this long to send its first request.
    private static let drainGrace: Duration = .milliseconds(100)

    /// Sets the deadline for the first request of a server that drains.
    mutating func shortenForDrain() {
        instant = .now() + Self.drainGrace
        look(after: Self.drainGrace)
    }

    /// - Parameter stalled: the instant since which the client has read none of the waiting output; nil if it
    ///   reads.
    func fired(stalledSince stalled: LoopInstant?, writeTimeout: Duration) -> Outcome {
        let now = LoopInstant.now()
        if let stalled {
            let left = writeTimeout - (now - stalled)
            guard left > .zero else { return .notRead }
            look(after: left)
        } else if let instant {
            guard instant > now else { return .notSent(awaited) }
            look(after: instant - now)
        }
        return .notYet
    }

    mutating func cancel() {
        timer?.cancel()
        timer = nil
    }
}

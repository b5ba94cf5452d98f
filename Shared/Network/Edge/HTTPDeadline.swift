import HTTP
import Reactor

/// By when a client has to send what is awaited of it, and to read what it was answered: one timer for both.
struct HTTPDeadline {
    /// The result when the timer fires.
    enum Outcome {
        case notYet
        /// Nothing of an answer was taken for `EdgeConfiguration.writeTimeout`.
        case notRead
        /// It did not come in time.
        case notSent(HTTPRequestParser.Progress)
    }

    private var timer: LoopTimer?
    /// What the time-out is about. A connection that just opened has to send its first request.
    private var awaited = HTTPRequestParser.Progress.head
    /// Ends what is awaited; nil while a request is answered.
    private var instant: LoopInstant?
    private var timeout = Duration.zero
    private var isExtended = false

    /// - Parameter fire: asks `fired`.
    mutating func start(after timeout: Duration, on loop: EventLoop, _ fire: @escaping () -> Void) {
        begin(timeout, at: loop.now)
        timer = loop.schedule(after: timeout, fire)
    }

    /// A request is awaited, or the rest of one that has begun. Nothing if that was so before.
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
        // Sooner, to see whether the last answer is being taken; but not later than that is looked at anyway.
        if !isStalled { look(after: min(timeout, edge.configuration.writeTimeout)) }
    }

    private mutating func begin(_ timeout: Duration, at now: LoopInstant) {
        self.timeout = timeout
        isExtended = false
        instant = now + timeout
    }

    /// Gives as long again for what is awaited now, once.
    ///
    /// - Returns: false if that was done before.
    mutating func extend() -> Bool {
        if isExtended { return false }
        isExtended = true
        instant = .now() + timeout
        look(after: timeout)
        return true
    }

    /// Ends the wait: the awaited bytes have come.
    mutating func end() { instant = nil }

    /// Has `fired` asked after this time, and not before.
    func look(after delay: Duration) { timer?.rearm(after: delay) }

    mutating func shorten(to grace: Duration) {
        instant = .now() + grace
        look(after: grace)
    }

    /// - Parameter stalled: since when the client has read nothing of what waits for it; nil if it reads.
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

import Observation

/// Keeps what a screen shows current. It fetches on demand, one fetch at a time, and repeats a fetch that has failed.
///
/// A new fetch takes the place of one that is in progress: pages fetched so far may be older than missed events, and the
/// request may wait for a dead connection. The answers of the earlier fetch are then obsolete, which ``epoch`` shows.
@MainActor
@Observable
final class Loading {
    /// Fetches everything that is shown. After each wait it has to check ``Loading/epoch``, and to change nothing if that
    /// has risen.
    ///
    /// - Returns: the failure of the room's join, if the join may be retried; nil if the room is joined.
    typealias Fetch = @MainActor () async throws -> ClientFailure?

    /// True once the last fetch has succeeded, until the next one starts or the screen closes.
    private(set) var isFetched = false
    /// True if the last fetch could join the room. The server then sends the room's events on each connection.
    private(set) var isJoined = false
    /// True without a connection, and on a new one until all missed events have arrived.
    var isBehind: Bool
    private(set) var isLoading = false
    /// The reason why the last fetch failed; nil if it succeeded.
    var failure: ClientFailure?

    /// True while a screen is open. Otherwise what was fetched does not stay current, and a fetch that has failed is not
    /// repeated.
    @ObservationIgnored private var isOpen: Bool
    /// Rises when the answers to earlier requests become obsolete.
    @ObservationIgnored private(set) var epoch = 0
    @ObservationIgnored var fetch: Fetch = { nil }
    /// Called after a fetch that has succeeded.
    @ObservationIgnored var onFetched: @MainActor () -> Void = {}
    /// Called when a request has failed.
    @ObservationIgnored var onFailure: @MainActor (ClientFailure) -> Void = { _ in }
    /// Called when what is shown is no longer known to be current.
    @ObservationIgnored var onOutdated: @MainActor () -> Void = {}
    @ObservationIgnored private var running: Task<Void, Never>?
    @ObservationIgnored private let retry: DelayedWork
    @ObservationIgnored private var backoff: Backoff
    @ObservationIgnored private let random: @Sendable () -> Double

    init(
        isBehind: Bool, isOpen: Bool = true, backoff: Backoff, clock: any ClientClock,
        random: @escaping @Sendable () -> Double
    ) {
        self.isOpen = isOpen
        self.isBehind = isBehind
        self.backoff = backoff
        self.random = random
        retry = DelayedWork(clock)
    }

    /// True if everything shown comes from the server, and every change arrives as an event.
    var isVerified: Bool { isFetched && isJoined && !isBehind }

    /// Starts a fetch. Until it succeeds, what is shown is unverified.
    func begin() {
        becomeOutdated()
        if !isLoading { isLoading = true }
        running = Task { [epoch] in
            // The caller goes on first, and may end this.
            guard epoch == self.epoch else { return }
            await run(asked: epoch)
        }
    }

    /// Fetches, and returns when the last fetch has ended.
    func refresh() async {
        begin()
        while let running { await running.value }
    }

    /// Ends the fetch in progress and the retries. Answers that are still to come are obsolete.
    func end() {
        becomeOutdated()
        running = nil
        (isLoading, isJoined) = (false, false)
    }

    func noteOpened() { isOpen = true }

    /// Notes that no screen is open any more. A fetch in progress continues.
    func noteClosed() {
        retry.cancel()
        (isOpen, isFetched) = (false, false)
    }

    /// Notes that the server has refused to join the room again after a reconnect.
    func noteRefusedJoin() { isJoined = false }

    /// Notes why a request failed.
    func note(_ error: any Error) {
        // A cancelled request has no waiting caller.
        guard let error = error as? ClientFailure else { return }
        failure = error
        onFailure(error)
        // If the loss of the room is confirmed, this ends. Otherwise the answer was wrong.
        if error.isRoomGone { beginLater(after: error) }
    }

    private func becomeOutdated() {
        epoch += 1
        running?.cancel()
        retry.cancel()
        if isFetched { isFetched = false }
        onOutdated()
    }

    private func run(asked: Int) async {
        do {
            let refusal = try await fetch()
            guard epoch == asked else { return }
            (isFetched, isJoined, failure) = (isOpen, refusal == nil, refusal)
            // What is shown is complete. But if the join was refused, later changes do not arrive, so it is retried.
            if let refusal { beginLater(after: refusal) } else { backoff.reset() }
            onFetched()
        } catch {
            guard epoch == asked else { return }
            note(error)
            if let error = error as? ClientFailure, error.isRetryable { beginLater(after: error) }
        }
        guard epoch == asked else { return }
        isLoading = false
        running = nil
    }

    private func beginLater(after failure: ClientFailure) {
        retry.cancel()
        guard isOpen else { return }
        retry.start(after: backoff.next(random: random(), atLeast: failure.retryAfter)) { [weak self] in self?.begin() }
    }
}

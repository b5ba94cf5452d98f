import ParlorContracts
import ParlorEventLog
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit
import Synchronization

/// Follows the log of ended sessions, from as far back as any token could be valid.
///
/// Entries arrive on the bus as they are committed. The follower looks for the log's head twice a second. That reveals
/// entries that the bus lost, and entries that were missed while the bus was disconnected.
package final class SessionLog: Sendable {
    private struct State {
        var logID: LogID?
        var follower: LogFollower?
        /// Counts the starts, so that work for an earlier one is abandoned.
        var start = 0
        var isStopped = false
    }

    /// A lost entry is noticed within this interval. An ended session's tokens must be refused within one second, and
    /// this is half of it.
    package static let interval: Duration = .milliseconds(500)
    private static let settlingInterval: Duration = .milliseconds(2)
    private static let retryInterval: Duration = .milliseconds(250)

    private let ended: EndedSessions
    private let bus: any MessageBus
    private let client: LogClient
    private let loop: EventLoop
    private let clock: any WallClock
    private let log: Logger
    private let faults: ReplyFaults?
    private let onEnd: @Sendable ([String]) -> Void
    private let state = Mutex(State())

    /// - Parameter onEnd: receives the sessions that ended, after their tokens are refused; on the loop or on
    ///   any thread.
    package init(
        _ ended: EndedSessions, bus: any MessageBus, on loop: EventLoop, clock: any WallClock, log: Logger,
        faults: ReplyFaults? = nil, onEnd: @escaping @Sendable ([String]) -> Void
    ) {
        self.ended = ended
        self.bus = bus
        client = LogClient(bus, requestID: "sessions", owner: "Accounts", faults: faults)
        self.loop = loop
        self.clock = clock
        self.log = log
        self.faults = faults
        self.onEnd = onEnd
    }

    /// Handles the manifest of a service, announced now or known from before. The first service that has such a
    /// log is followed.
    package func learn(_ manifest: Manifest) {
        guard manifest.logsEndedSessions else { return }
        let logID = LogID(manifest.service)
        let isNew = state.withLock { state in
            guard state.logID == nil, !state.isStopped else { return false }
            state.logID = logID
            return true
        }
        guard isNew else { return }
        let follower = LogFollower(
            logID, bus: bus, on: loop, log: log, faults: faults, lookingEvery: Self.interval,
            deliver: { [weak self] in self?.note($0) },
            onStart: { [weak self] position in self?.began(after: position) })
        do throws(BusError) {
            try follower.start()
        } catch {
            log.error("ended sessions cannot be followed", ["log": logID.name, "error": "\(error)"])
            // The next announcement tries again.
            return state.withLock { $0.logID = nil }
        }
        let isKept = state.withLock { state in
            // The service was removed meanwhile, or everything has stopped.
            guard state.logID == logID, state.follower == nil, !state.isStopped else { return false }
            state.follower = follower
            return true
        }
        if !isKept { follower.stop() }
    }

    /// Handles the permanent removal of the service: another one may replace it. The sessions that it ended
    /// stay ended.
    package func forget(_ service: String) {
        let follower = state.withLock { state -> LogFollower? in
            guard state.logID?.service == service else { return nil }
            state.start += 1
            defer { (state.logID, state.follower) = (nil, nil) }
            return state.follower
        }
        follower?.stop()
    }

    /// Notes the head of a log, from its service's announcement.
    package func announced(_ logID: LogID, _ head: LogPosition) {
        state.withLock { $0.logID == logID ? $0.follower : nil }?.announced(head)
    }

    /// Returns once all earlier ended sessions are known, or at the time limit; at once if no known service has such a
    /// log.
    package func settle(within limit: Duration) async {
        let end = LoopInstant.now() + limit
        while state.withLock({ $0.logID != nil }), !ended.isKnown, LoopInstant.now() < end, !Task.isCancelled {
            try? await Task.sleep(for: Self.settlingInterval)  // cancelled: the loop ends
        }
    }

    package func stop() {
        let follower = state.withLock { state in
            state.isStopped = true
            return state.follower
        }
        follower?.stop()
    }

    private func note(_ entries: [LogEntry]) {
        let now = clock.now()
        for entry in entries {
            guard let sessions = entry.fact?.sessionsEnded else { continue }
            ended.note(sessions, at: entry.at, now: now)
            onEnd(sessions.sessionIDs)
        }
    }

    // MARK: Earlier entries

    /// Handles the start after this position: entries before it are fetched. Entries are kept for as long as
    /// a token can be valid.
    private func began(after position: LogPosition) {
        let start = state.withLock { state in
            state.start += 1
            return state.start
        }
        Task { await catchUp(to: position, start) }
    }

    private func catchUp(to position: LogPosition, _ start: Int) async {
        var since = 0
        while since < position.seq {
            guard state.withLock({ $0.start == start && !$0.isStopped }) else { return }
            guard let logID = state.withLock({ $0.logID }) else { return }
            // After an error the owner is asked again.
            guard
                let page = try? await client.page(of: logID, LogQuery(since: since, through: position.seq))
            else {
                try? await Task.sleep(for: Self.retryInterval)  // never cancelled
                continue
            }
            // The log was replaced: the follower starts again, and so does this.
            guard page.head.databaseID == position.databaseID, page.head.seq >= position.seq else { return }
            note(page.entries)
            // Pruned entries are too old to matter, and malformed ones are passed over.
            since = max(page.through, since + 1)
        }
        if state.withLock({ $0.start == start }) { ended.becomeKnown() }
    }
}

import ParlorContracts
import ParlorServiceKit
import ParlorWorkers
import Synchronization

/// Passes notifications of one of the provider's two environments to it, and converts its outcomes to
/// results.
final class NotificationSender: Sendable {
    /// The time after a bad token until it is tried again, unless it is registered again. The device is kept: the
    /// token may be one of the other environment, because of a wrong setting.
    private static let quarantine: Duration = .seconds(86_400)

    private let provider: any PushProvider
    private let health: ProviderHealth
    private let results: JobResults
    private let metrics: PushMetrics
    private let clock: any WallClock
    private let background: TaskThread
    private let form: AlertForm
    private let open = Atomic(0)
    /// Called when an attempt ends and half of the possible attempts, or none, are left in progress. A call for
    /// each attempt would be too often.
    private let onRoom: @Sendable () -> Void

    init(
        _ provider: any PushProvider, health: ProviderHealth, results: JobResults, metrics: PushMetrics,
        clock: any WallClock, background: TaskThread, form: AlertForm, onRoom: @escaping @Sendable () -> Void
    ) {
        self.provider = provider
        self.health = health
        self.results = results
        self.metrics = metrics
        self.clock = clock
        self.background = background
        self.form = form
        self.onRoom = onRoom
    }

    /// The number of attempts that have not ended.
    var inFlight: Int { open.load(ordering: .relaxed) }

    /// Starts to send. Returns at once.
    func send(_ claim: Claim, _ unread: DeliveryContext.Unread, roomName: String?) {
        let job = claim.job
        let notification =
            job.isBadge
            ? Notification(badge: unread.total, job, to: claim.device)
            : Notification(
                job, unread.messages[job.messageID], to: claim.device, roomName: roomName, badge: unread.total, in: form
            )
        open.wrappingAdd(1, ordering: .relaxed)
        Task(executorPreference: background) { [self] in
            let began = ContinuousClock.now
            let outcome = await provider.send(notification)
            metrics.attempted(outcome, took: .now - began)
            results.add(result(of: claim, outcome))
            health.note(outcome)
            let left = open.wrappingSubtract(1, ordering: .relaxed).newValue
            if left == 0 || left == type(of: provider).concurrency / 2 { onRoom() }
        }
    }

    private func result(of claim: Claim, _ outcome: PushOutcome) -> JobResult {
        let now = clock.now()
        var result = JobResult(claim: claim, end: .done)
        func again(after asked: Duration?) -> Timestamp {
            let delay = RetryPolicy.delay(after: claim.attempts, asked: asked, chance: .random(in: 0...1))
            // The provider may have accepted the silent update that failed, so the next one keeps the interval.
            return now.adding(claim.job.isBadge ? max(delay, JobPlan.badgeInterval) : delay)
        }
        switch outcome {
        case .delivered: if claim.job.isBadge { result.badgeSentAt = now }
        case .gone(let since, _): result.deviceGoneSince = since
        case .badToken where health.hasDelivered:
            result.quarantine = (now.adding(Self.quarantine), provider.identity)
        case .refused: break
        case .later(_, let asked, let extent):
            let time = again(after: asked)
            result.end = .later(time, countsAsAttempt: true, isWatching: false)
            if extent == .device { result.deviceRestsUntil = time }
        case .unanswered: result.end = .later(again(after: nil), countsAsAttempt: true, isWatching: false)
        case .badToken, .misconfigured:
            result.end = .later(now.adding(ProviderHealth.pause), countsAsAttempt: false, isWatching: false)
        }
        return result
    }
}

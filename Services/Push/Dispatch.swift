import Contracts
import ServiceKit
import Workers

/// Hands notifications to the provider, and makes results of what it says.
struct Dispatch: Sendable {
    /// After a bad token, until it is tried again or registered anew: a token that belongs to the other world is a mistake of
    /// settings, and no reason to forget people's devices.
    private static let quarantine: Duration = .seconds(86_400)

    let provider: any PushProvider
    let health: ProviderHealth
    let results: JobResults
    let metrics: PushMetrics
    let clock: any WallClock
    let background: TaskThread
    let showsText: Bool

    /// Returns at once.
    func send(_ claim: Claim, _ unread: Circumstances.Unread, roomName: String?) {
        let job = claim.job
        let notification =
            job.isBadge
            ? Notification(badge: unread.total, job, to: claim.device)
            : Notification(
                job, to: claim.device, roomName: roomName, text: showsText ? unread.texts[job.messageID] : nil,
                badge: unread.total)
        Task(executorPreference: background) {
            let began = ContinuousClock.now
            let outcome = await provider.send(notification)
            metrics.attempted(outcome, took: .now - began)
            health.note(outcome)
            results.add(result(of: claim, outcome))
        }
    }

    func stop() async { await provider.stop() }

    private func result(of claim: Claim, _ outcome: PushOutcome) -> JobResult {
        let now = clock.now()
        var result = JobResult(claim: claim, end: .done)
        switch outcome {
        case .delivered: if claim.job.isBadge { result.badgeSentAt = now }
        case .gone(let since, _): result.deviceGoneSince = since
        case .badToken: result.quarantineUntil = now.adding(Self.quarantine)
        case .refused: break
        case .later(_, let asked, _):
            let delay = RetryPolicy.delay(after: claim.attempts, asked: asked, chance: .random(in: 0...1))
            result.end = .later(now.adding(delay), countsAsAttempt: true, isWatching: false)
        case .misconfigured:
            result.end = .later(now.adding(ProviderHealth.pause), countsAsAttempt: false, isWatching: false)
        }
        return result
    }
}

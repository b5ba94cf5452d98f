import ParlorContracts
import ParlorServiceKit
import Synchronization

/// The metrics of push. Several instances on one database share the jobs, and each of them reports all.
final class PushMetrics: Sendable {
    let logRestarts: Counter
    let latency: Histogram
    private let metrics: Metrics
    private let provider: String
    private let counts = Mutex(JobCounts())

    init(_ metrics: Metrics, provider: String, clock: any WallClock) {
        self.metrics = metrics
        self.provider = provider
        logRestarts = metrics.counter(
            "parlor_push_log_restarts_total",
            "Times that push found a different log of messaging and restarted at its end.")
        latency = metrics.histogram(
            "parlor_push_provider_seconds", "Time from an attempt to the provider's answer, in seconds.",
            labels: ["provider": provider])
        let states: KeyValuePairs<String, @Sendable (JobCounts) -> Int> = [
            "held": \.held, "watching": \.watching, "retrying": \.retrying, "sending": \.sending,
        ]
        for (state, count) in states {
            metrics.gauge("parlor_push_jobs", "Jobs, by state.", labels: ["state": state]) { [weak self] in
                Double(self.map { count($0.jobs) } ?? 0)
            }
        }
        metrics.gauge(
            "parlor_push_oldest_job_seconds", "Age of the oldest waiting message, in seconds; 0 if none waits."
        ) {
            [weak self] in
            guard let oldest = self?.jobs.oldest else { return 0 }
            return Double(clock.now().milliseconds - oldest.milliseconds) / 1000
        }
        for reason in DeliveryDecision.Reason.allCases { dropped(reason, count: 0) }
    }

    /// The last counts.
    var jobs: JobCounts {
        get { counts.withLock { $0 } }
        set { counts.withLock { $0 = newValue } }
    }

    func attempted(_ outcome: PushOutcome, took: Duration) {
        latency.observe(took)
        metrics.counter(
            "parlor_push_attempts_total", "Attempts to send, by outcome and reason.",
            labels: ["provider": provider, "outcome": outcome.label, "reason": outcome.reason]
        ).add()
    }

    func dropped(_ reason: DeliveryDecision.Reason, count: Int = 1) {
        metrics.counter(
            "parlor_push_dropped_total", "Jobs dropped without sending, by reason.",
            labels: ["reason": reason.rawValue]
        ).add(count)
    }

    func watchHealth(_ health: ProviderHealth) {
        metrics.gauge(
            "parlor_push_paused",
            "1 while deliveries are paused because a setting is wrong or the provider is unavailable.",
            labels: ["environment": health.environment.rawValue]
        ) { health.isFailing ? 1 : 0 }
    }
}

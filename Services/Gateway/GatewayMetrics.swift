import Contracts
import EventLog
import ServiceKit
import Synchronization

/// What a gateway measures of its clients' events, and of the logs that it tells them of. What is open and cut off at its
/// edge is in `EdgeCounters`.
final class GatewayMetrics: Sendable {
    /// From a socket's event to its ack, also of a failure.
    let acks: Histogram
    /// Acks that say that a service failed, for no fault of the client.
    let failedAcks: Counter
    /// Requests and events that a limit refused.
    let limited: Counter
    /// Errors that clients were answered, by their code: those of services, too.
    private let errors: [ErrorCode: Counter]
    /// Sockets that ended with their session.
    let endedSockets: Counter
    /// Sockets that gave way to a newer one of their person.
    let replacedSockets: Counter
    /// What the edge counts of it is registered with the server.
    static let refused = (
        name: "parlor_refused_total", help: "What clients were refused, by the limit that they were over."
    )
    private let fanout: Histogram
    private let metrics: Metrics
    private let clock: any WallClock
    /// The last entry of each log that was handed to the shards.
    private let followed = Mutex<[String: Int]>([:])

    init(_ metrics: Metrics, clock: any WallClock) {
        self.metrics = metrics
        self.clock = clock
        acks = metrics.histogram("parlor_ack_seconds", "From a socket's event to its ack.")
        failedAcks = metrics.counter("parlor_ack_failures_total", "Acks that say that a service failed.")
        limited = metrics.counter("parlor_rate_limited_total", "Requests and events that a limit refused.")
        errors = Dictionary(
            uniqueKeysWithValues: ErrorCode.allCases.map { code in
                (
                    code,
                    metrics.counter(
                        "parlor_errors_total", "Errors that clients were answered, over HTTP and sockets.",
                        labels: ["code": code.rawValue])
                )
            })
        endedSockets = metrics.counter(
            "parlor_session_closes_total", "Sockets that were disconnected as their session had ended.")
        replacedSockets = metrics.counter(
            Self.refused.name, Self.refused.help, labels: ["what": "socket", "limit": "person"])
        fanout = metrics.histogram(
            "parlor_fanout_seconds", "From a change to its events on a loop's sockets, by the clocks of both machines.")
    }

    /// A client is answered this error.
    func note(_ error: ServiceError) { errors[error.code]?.add() }

    /// The log is followed up to there, from its start or a jump on. Lag is what the service's `parlor_log_seq` is ahead.
    func note(_ seq: Int, of stream: String) {
        let isNew = followed.withLock { $0.updateValue(seq, forKey: stream) == nil }
        guard isNew else { return }
        metrics.gauge(
            "parlor_followed_seq", "The last entry of a service's event log that was fanned out.",
            labels: ["service": stream]
        ) { [weak self] in Double(self?.followed.withLock { $0[stream] } ?? 0) }
    }

    /// A loop's sockets have been sent the entry.
    func noteSent(_ entry: LogEntry) {
        // A time that no clock can have told counts as now.
        let (age, isAbsurd) = clock.now().milliseconds.subtractingReportingOverflow(entry.at.milliseconds)
        fanout.observe(isAbsurd ? .zero : .milliseconds(age))
    }
}

import ParlorContracts
import ParlorEventLog
import ParlorServiceKit
import Synchronization

/// Metrics of delivery: the position in each log, and the time from a change to clients.
package final class DeliveryMetrics: Sendable {
    private let fanout: Histogram
    private let metrics: Metrics
    private let clock: any WallClock
    /// The last entry of each log that was passed to the loops.
    private let followed = Mutex<[LogID: Int]>([:])

    package init(_ metrics: Metrics, clock: any WallClock) {
        self.metrics = metrics
        self.clock = clock
        fanout = metrics.histogram(
            "parlor_fanout_seconds",
            "Time from a change to its events on a loop's sockets, by both machines' clocks, in seconds.")
    }

    /// Notes the position up to which a log is followed. The lag is the difference to the service's
    /// `parlor_log_seq`.
    func note(_ seq: Int, of logID: LogID) {
        let isNew = followed.withLock { $0.updateValue(seq, forKey: logID) == nil }
        guard isNew else { return }
        metrics.gauge(
            "parlor_followed_seq", "Newest fanned-out entry of a service's event log.",
            labels: ["service": logID.name]
        ) { [weak self] in Double(self?.followed.withLock { $0[logID] } ?? 0) }
    }

    /// Notes that a loop's sockets have been sent the entry.
    func noteSent(_ entry: LogEntry) {
        // An impossible time counts as now.
        let (age, isAbsurd) = clock.now().milliseconds.subtractingReportingOverflow(entry.at.milliseconds)
        fanout.observe(isAbsurd ? .zero : .milliseconds(age))
    }
}

import ParlorContracts
import ParlorServiceKit

/// Metrics of clients' requests and events. Open connections and disconnects are in `EdgeCounters`.
package final class EdgeMetrics: Sendable {
    /// The time from the start of a socket's event to its ack, including failures. The event's wait in the socket's
    /// queue is not included.
    let acks: Histogram
    /// The acks that report a failure of a service, and not a mistake of the client.
    let failedAcks: Counter
    /// The errors returned to clients, by the contract's code.
    private let errors: [ErrorCode: Counter]
    /// The errors with services' own codes: there may be any number of names, so one counter for all.
    private let ownErrors: Counter
    /// The sockets that ended with their session.
    let endedSockets: Counter
    /// The sockets that were replaced by a newer one of their person.
    let replacedSockets: Counter
    /// The name and help text of the metric of refusals. `Gateway` registers the counters that the server itself keeps.
    package static let refused = (
        name: "parlor_refused_total", help: "Refusals at the edge, by limit."
    )

    package init(_ metrics: Metrics) {
        acks = metrics.histogram(
            "parlor_ack_seconds",
            "Time from the start of a socket's event to its ack, without its wait in the socket's queue, in seconds.")
        failedAcks = metrics.counter("parlor_ack_failures_total", "Acks that report a failed service.")
        func counter(_ code: String) -> Counter {
            metrics.counter(
                "parlor_errors_total", "Errors sent to clients, over HTTP and sockets.", labels: ["code": code])
        }
        errors = Dictionary(uniqueKeysWithValues: ErrorCode.ofContract.map { ($0, counter($0.rawValue)) })
        ownErrors = counter("other")
        endedSockets = metrics.counter(
            "parlor_session_closes_total", "Sockets disconnected because their session ended.")
        replacedSockets = metrics.counter(
            Self.refused.name, Self.refused.help, labels: ["what": "socket", "limit": "person"])
    }

    /// Counts an error that is returned to a client.
    func note(_ error: ServiceError) { (errors[error.code] ?? ownErrors).add() }
}

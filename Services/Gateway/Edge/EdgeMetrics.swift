import Contracts
import ServiceKit

/// Metrics of clients' requests and events. Open connections and disconnects are in `EdgeCounters`.
package final class EdgeMetrics: Sendable {
    /// From a socket's event to its ack, also of a failure.
    let acks: Histogram
    /// Acks that say that a service failed, for no fault of the client.
    let failedAcks: Counter
    /// The errors in answers to clients, by their code.
    private let errors: [ErrorCode: Counter]
    /// Those with codes that services have of their own: any number of names, so one counter for all.
    private let ownErrors: Counter
    /// Sockets that ended with their session.
    let endedSockets: Counter
    /// Sockets that gave way to a newer one of their person.
    let replacedSockets: Counter
    /// The metric of refusals. The edge's own counts of it are registered with the server.
    package static let refused = (
        name: "parlor_refused_total", help: "Refusals at the edge, by limit."
    )

    package init(_ metrics: Metrics) {
        acks = metrics.histogram("parlor_ack_seconds", "Time from a socket's event to its ack, in seconds.")
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

    /// A client is answered this error.
    func note(_ error: ServiceError) { (errors[error.code] ?? ownErrors).add() }
}

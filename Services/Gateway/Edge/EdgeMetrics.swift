import Contracts
import ServiceKit

/// Metrics of clients' requests and events. Open connections and disconnects are in `EdgeCounters`.
package final class EdgeMetrics: Sendable {
    /// From a socket's event to its ack, also of a failure.
    let acks: Histogram
    /// Acks that say that a service failed, for no fault of the client.
    let failedAcks: Counter
    /// Errors that clients were answered, by their code: those of services, too.
    private let errors: [ErrorCode: Counter]
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
        errors = Dictionary(
            uniqueKeysWithValues: ErrorCode.allCases.map { code in
                (
                    code,
                    metrics.counter(
                        "parlor_errors_total", "Errors sent to clients, over HTTP and sockets.",
                        labels: ["code": code.rawValue])
                )
            })
        endedSockets = metrics.counter(
            "parlor_session_closes_total", "Sockets disconnected because their session ended.")
        replacedSockets = metrics.counter(
            Self.refused.name, Self.refused.help, labels: ["what": "socket", "limit": "person"])
    }

    /// A client is answered this error.
    func note(_ error: ServiceError) { errors[error.code]?.add() }
}

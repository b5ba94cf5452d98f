import Contracts
import ServiceKit

/// What a gateway measures of its clients' requests and events. What is open and cut off at its edge is in `EdgeCounters`.
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
    /// What the edge counts of it is registered with the server.
    package static let refused = (
        name: "parlor_refused_total", help: "What clients were refused, by the limit that they were over."
    )

    package init(_ metrics: Metrics) {
        acks = metrics.histogram("parlor_ack_seconds", "From a socket's event to its ack.")
        failedAcks = metrics.counter("parlor_ack_failures_total", "Acks that say that a service failed.")
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
    }

    /// A client is answered this error.
    func note(_ error: ServiceError) { errors[error.code]?.add() }
}

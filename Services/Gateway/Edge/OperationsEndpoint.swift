import ParlorGatewayCatalog
import ParlorHTTP
import ParlorJSON
import ParlorOperations
import ParlorServiceKit

/// Answers `/healthz`, `/readyz` and `/metrics` on the clients' port.
package final class OperationsEndpoint: Sendable {
    private let probe: ReadinessProbe
    private let requiredServices: [String]
    private let metrics: Metrics

    package init(services: RequestForwarder, requiredServices: [String], metrics: Metrics) {
        probe = ReadinessProbe { await services.missing(of: requiredServices) }
        self.requiredServices = requiredServices
        self.metrics = metrics
    }

    static let health = HTTPResponse.json(JSONWriter.object { $0.member("status", "up") })

    var metricsText: HTTPResponse { .metrics(metrics) }

    /// Returns the required services that do not reply.
    package func missingServices() async -> Set<String> { await probe.missingServices() }

    func readiness() async -> HTTPResponse {
        let missing = await missingServices()
        let body = JSONWriter.object { json in
            json.member("status", missing.isEmpty ? "ready" : "not ready")
            json.member(
                "services",
                object: {
                    for name in requiredServices.sorted() { $0.member(name, missing.contains(name) ? "down" : "up") }
                })
            json.member("version", Release.version)
        }
        var response = HTTPResponse.json(body, status: missing.isEmpty ? 200 : 503)
        if !missing.isEmpty { response.headers.add("Retry-After", "1") }
        return response
    }
}

import ParlorGatewayCatalog
import ParlorHTTP
import ParlorJSON
import ParlorOperations
import ParlorServiceKit

/// Serves `/healthz` and, if enabled on the clients' port, `/readyz` and `/metrics`.
package final class OperationsEndpoint: Sendable {
    private let probe: ReadinessProbe
    private let requiredServices: [String]
    private let isShown: Bool
    private let metrics: Metrics

    /// - Parameter isShown: true to serve more than `/healthz`.
    package init(services: RequestForwarder, requiredServices: [String], isShown: Bool, metrics: Metrics) {
        probe = ReadinessProbe { await services.missing(of: requiredServices) }
        self.requiredServices = requiredServices
        self.isShown = isShown
        self.metrics = metrics
    }

    func serves(_ path: String) -> Bool {
        path == "/healthz" || (isShown && (path == "/readyz" || path == "/metrics"))
    }

    /// - Returns: nil if services have to be asked first. Then call `readiness`.
    func response(to path: String) -> HTTPResponse? {
        switch path {
        case "/healthz": return .json(JSONWriter.object { $0.member("status", "up") })
        case "/metrics": return .metrics(metrics)
        default: return nil
        }
    }

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

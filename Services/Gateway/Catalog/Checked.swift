import Contracts

/// A route or a socket event, with the checks that its requests must pass before they are forwarded.
package struct Checked<Declaration: Sendable>: Sendable {
    package let declaration: Declaration
    /// In the order in which their denials count; empty for most declarations.
    package let checks: [RequestCheck]
}

/// The checks of all services, by the request that they precede. A catalog resolves them once, for its routes
/// and events.
struct CheckTable: Sendable {
    private var checks: [String: [RequestCheck]] = [:]
    /// The checks without effect, because the request that they precede is confidential.
    private(set) var refused: [RequestCheck] = []

    /// - Parameter services: in the order in which their denials count.
    init(_ services: [Manifest]) {
        let confidential = Set(services.flatMap(\.routes).filter(\.isConfidential).map(\.subject))
        for service in services {
            // One check of a service is enough for a request, and bounds what a request costs.
            var known: Set<String> = []
            for check in service.checks where known.insert(check.before).inserted {
                if confidential.contains(check.before) {
                    refused.append(check)
                } else {
                    checks[check.before, default: []].append(check)
                }
            }
        }
    }

    subscript(request: String) -> [RequestCheck] { checks[request, default: []] }
}

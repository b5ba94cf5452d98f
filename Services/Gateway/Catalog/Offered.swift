import ParlorContracts

/// A route or a socket event of a service, with what its requests must pass before they are forwarded.
package struct Offered<Declaration: Sendable>: Sendable {
    package let declaration: Declaration
    package let limits: [RateLimit]
    /// In order of precedence: if several deny, the error of the first one is returned. Empty for most declarations.
    package let checks: [ServiceCheck]
}

/// A check that requests must pass, and the service that makes it.
package struct ServiceCheck: Sendable, Equatable {
    package let service: String
    package let before: String
    /// nil for a check of `CHECKS` that its service does not announce. Nobody can be asked, so its requests are denied.
    package let declaration: RequestCheck?
    /// `deny` for a check of `CHECKS`, whatever its service declares.
    package let whenAway: RequestCheck.WhenAway
}

/// A check that has no effect.
package struct RefusedCheck: Sendable, Equatable {
    package enum Reason: String, Sendable {
        case confidential = "the request is confidential, as those with passwords and tokens are"
        case unlisted = "CHECKS does not list it"
        case unmatched = "no service has this request now"
    }

    package let check: ServiceCheck
    package let reason: Reason
}

/// The checks of all services, by the request that they precede. A catalog resolves them once, for its routes
/// and events.
struct CheckTable: Sendable {
    private var checks: [String: [ServiceCheck]] = [:]
    private(set) var refused: [RefusedCheck] = []

    /// - Parameters:
    ///   - services: in the order of precedence of their checks.
    ///   - list: the checks to enforce; nil for all that services declare.
    ///   - isWhole: true if all services have announced themselves that the product needs: a check that precedes no
    ///     request then counts as refused, though it takes effect once a service has the request.
    init(_ services: [Manifest], listed list: CheckList?, isWhole: Bool) {
        let confidential = Set(services.flatMap(\.routes).filter(\.isConfidential).map(\.subject))
        var missing = list?.items ?? []
        for service in services {
            // A service checks a request at most once, however often it declares the check. This bounds the cost of
            // a request.
            var known: Set<String> = []
            for declaration in service.checks where known.insert(declaration.before).inserted {
                let check = ServiceCheck(
                    service: service.service, before: declaration.before, declaration: declaration,
                    whenAway: list == nil ? declaration.whenAway : .deny)
                let isListed = missing.remove(CheckList.Item(service: check.service, before: check.before)) != nil
                if list != nil, !isListed {
                    refused.append(RefusedCheck(check: check, reason: .unlisted))
                } else {
                    add(check, confidential)
                }
            }
        }
        for item in missing.sorted(by: { ($0.service, $0.before) < ($1.service, $1.before) }) {
            let check = ServiceCheck(
                service: item.service, before: item.before, declaration: nil, whenAway: .deny)
            add(check, confidential)
        }
        guard isWhole else { return }
        let requests = Set(services.flatMap { $0.routes.map(\.subject) + $0.socketEvents.map(\.subject) })
        for before in checks.keys.sorted() where before != RequestCheck.join && !requests.contains(before) {
            refused += self[before].map { RefusedCheck(check: $0, reason: .unmatched) }
        }
    }

    private mutating func add(_ check: ServiceCheck, _ confidential: Set<String>) {
        if confidential.contains(check.before) {
            refused.append(RefusedCheck(check: check, reason: .confidential))
        } else {
            checks[check.before, default: []].append(check)
        }
    }

    subscript(request: String) -> [ServiceCheck] { checks[request, default: []] }
}

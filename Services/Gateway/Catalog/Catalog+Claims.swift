import Contracts

extension Catalog {
    /// What a manifest wants for its service and another service has already. Whoever was first keeps it: otherwise a service that somebody
    /// took over could draw others' requests to itself, passwords among them.
    ///
    /// - Returns: nil if there is nothing.
    func conflict(with manifest: Manifest) -> (claim: String, holder: String)? {
        let claims = manifest.claims
        for other in services where other.service != manifest.service {
            if let claim = other.claims.intersection(claims).min() { return (claim, other.service) }
        }
        return nil
    }
}

extension Manifest {
    /// What only one service can have, as operators read it.
    fileprivate var claims: Set<String> {
        var claims: Set<String> = []
        for route in routes {
            // The names of parameters make no difference.
            let segments = route.path.split(separator: "/").map { $0.hasPrefix(":") ? ":" : $0 }
            claims.insert("\(route.method) /\(segments.joined(separator: "/"))")
        }
        for event in socketEvents { claims.insert("event \(event.event)") }
        for limit in limits { claims.insert("limit \(limit.name)") }
        for field in contribution?.fields ?? [] where field.kind != .laterTime { claims.insert("field \(field.path)") }
        if logsEndedSessions { claims.insert("the log of ended sessions") }
        return claims
    }
}

extension Manifest {
    /// A subject to which the manifest directs requests, and that is not the service's own; nil if there is none.
    /// Gateways pass clients' requests on to such subjects, so a manifest must not direct them to another service.
    public var foreignSubject: String? {
        let named =
            routes.map(\.subject) + socketEvents.map(\.subject)
            + contributions.map(\.contribution.subject) + [presenceSubject].compactMap(\.self)
            + batched + checks.map(\.subject)
        return named.first { !$0.hasPrefix("\(service).") }
    }
}

extension String {
    /// True for a subject, and false for a pattern of subjects.
    var isOneSubject: Bool { !isEmpty && !utf8.contains { "*> ".utf8.contains($0) } }
}

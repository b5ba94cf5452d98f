extension Manifest {
    /// The limits of what one service may announce. A gateway keeps all manifests in memory, and combines
    /// them again after each change of one.
    public enum Limit {
        /// The limit of routes, of socket events, and of subjects that take batches.
        public static let requests = 256
        public static let fields = 64
        public static let rateLimits = 64
        public static let checks = 64
        /// The limit of a field's `zero` in bytes. Each object for which the service gives no value contains it.
        public static let zeroBytes = 4_096
        public static let pathBytes = 1_024
        public static let pathParameters = 16
        public static let ackCopies = 16
        /// The limit of each name in a manifest, such as that of an event, a field, a subject or a rate limit. HTTP
        /// methods and the members of acks count as names, too.
        public static let nameBytes = 128
    }

    /// The first part that is over a limit, for a line in a log; nil if there is none.
    public var excess: String? {
        let fields = contributions.flatMap(\.contribution.fields)
        if let excess = Self.excess(
            (routes.count, Limit.requests, "routes"), (socketEvents.count, Limit.requests, "socket events"),
            (batched.count, Limit.requests, "batched subjects"), (fields.count, Limit.fields, "fields"),
            (limits.count, Limit.rateLimits, "rate limits"), (checks.count, Limit.checks, "checks"))
        {
            return excess
        }
        for route in routes {
            let parameters = route.path.split(separator: "/").count { $0.hasPrefix(":") }
            if let excess = Self.excess(
                (route.path.utf8.count, Limit.pathBytes, "bytes in a path"),
                (parameters, Limit.pathParameters, "parameters in a path"),
                (route.limits.count, Limit.rateLimits, "rate limits of a route"))
            {
                return excess
            }
        }
        for event in socketEvents {
            if let excess = Self.excess(
                (event.ackCopies.count, Limit.ackCopies, "copies in an ack"),
                (event.limits.count, Limit.rateLimits, "rate limits of an event"))
            {
                return excess
            }
        }
        for field in fields {
            if let excess = Self.excess((field.zero.bytes.count, Limit.zeroBytes, "bytes in a zero")) { return excess }
        }
        var names = [service] + fields.map(\.path) + limits.map(\.name) + batched
        for route in routes { names += [route.method, route.subject] + route.limits }
        for event in socketEvents {
            names += [event.event, event.subject] + event.limits
            if let ackName = event.ackName { names.append(ackName) }
            for copy in event.ackCopies { names += [copy.name, copy.from] }
        }
        for check in checks { names += [check.before, check.subject] }
        for case let role? in fields.map(\.role) {
            switch role {
            case .badge(let name): names.append(name)
            case .activity(let type, let sort): names += [type, sort]
            }
        }
        names += contributions.map(\.contribution.subject) + [presenceSubject].compactMap(\.self)
        return Self.excess((names.map(\.utf8.count).max() ?? 0, Limit.nameBytes, "bytes in a name"))
    }

    private static func excess(_ counts: (count: Int, limit: Int, what: String)...) -> String? {
        counts.first { $0.count > $0.limit }.map { "\($0.count) \($0.what), limit \($0.limit)" }
    }
}

import MessageBus

/// A peer's rights in the form in which they are looked up for each `pub` and `req`.
struct BrokerRights {
    private let serve: SubjectPatterns
    private let request: SubjectPatterns
    private let publish: SubjectPatterns
    private let subscribe: SubjectPatterns

    init(_ rights: BusRights) {
        serve = SubjectPatterns(rights.serve)
        request = SubjectPatterns(rights.request)
        publish = SubjectPatterns(rights.publish)
        subscribe = SubjectPatterns(rights.subscribe)
    }

    /// - Parameter pattern: a subject, or for `serve` and `subscribe` also a pattern: one right has to cover all that it matches.
    func allow(_ operation: BusRights.Operation, on pattern: String) -> Bool {
        switch operation {
        case .serve: serve.covers(pattern)
        case .request: request.covers(pattern)
        case .publish: publish.covers(pattern)
        case .subscribe: subscribe.covers(pattern)
        }
    }
}

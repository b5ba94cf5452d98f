extension Manifest {
    /// A subject that it names and that is not the service's own; nil if there is none. A gateway asks on these subjects whatever a client
    /// says, and nobody may have it ask another service so.
    public var foreignSubject: String? {
        let named =
            routes.map(\.subject) + socketEvents.map(\.subject)
            + [contribution?.subject, presenceSubject].compactMap { $0 }
            + batched
        return named.first { !$0.hasPrefix("\(service).") }
    }
}

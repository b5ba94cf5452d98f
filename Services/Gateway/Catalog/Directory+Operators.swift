import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit

/// The requests of operators: to list the known services, and to forget one.
extension Directory {
    /// The time in which a service has to announce itself when it is asked to, before it is forgotten. Running
    /// services reply within milliseconds.
    static let announcementWait: Duration = .milliseconds(500)

    /// - Returns: false if the service is not in the catalog.
    @discardableResult
    func noteHeard(_ service: String) -> Bool {
        let now = clock.now()
        return state.withLock { $0.noteHeard(service, at: now) }
    }

    func noteRefused(_ service: String, _ reason: String) {
        let now = clock.now()
        state.withLock { $0.refused.note(service, reason, at: now) }
    }

    /// Returns the services in the catalog and those that were refused, in the order of their names. `isServed` is
    /// false in all of them, and the caller sets it.
    ///
    /// - Parameter service: nil for all of them.
    func known(_ service: String?) -> [KnownService] {
        let now = clock.now()
        func age(_ time: Timestamp) -> Duration { .milliseconds(max(0, now.milliseconds - time.milliseconds)) }
        let (catalog, heard, announcedAt, refused) = state.withLock {
            ($0.catalog, $0.heard, $0.announcedAt, $0.refused.all)
        }
        let names = service.map { [$0] } ?? Set(catalog.manifests.keys).union(refused.keys).sorted()
        return names.compactMap { name in
            let manifest = catalog.manifests[name]
            guard manifest != nil || refused[name] != nil else { return nil }
            return KnownService(
                name: name, isRequired: catalog.isRequired(name), offer: manifest.map(ServiceOffer.init),
                known: (heard[name]?.since).map(age), heard: (heard[name]?.last ?? announcedAt[name]).map(age),
                isServed: false, refusal: refused[name].map { .init(reason: $0.reason, age: age($0.at)) })
        }
    }

    /// Removes a service with everything it offers, also from the file, unless it still announces itself. The service
    /// is asked to announce itself first.
    ///
    /// - Returns: the outcome, and what the service had offered, if it was removed.
    func forget(_ service: String) async -> (ForgettingReport.Outcome, ServiceOffer?) {
        guard !catalog.isRequired(service) else { return (.required, nil) }
        guard catalog.manifests[service] != nil else {
            // The manifest file may still contain the service, if it could not be written after the removal.
            _ = await isSaved()
            return (.unknown, nil)
        }
        let before = state.withLock { $0.heard[service]?.count }
        discover()
        let end = LoopInstant.now() + Self.announcementWait
        while LoopInstant.now() < end, state.withLock({ $0.heard[service]?.count }) == before {
            try? await Task.sleep(for: LogFollowers.settlingInterval)  // never cancelled
        }
        let removed = state.withLock { state -> Manifest? in
            guard state.heard[service]?.count == before, let manifest = state.catalog.manifests[service] else {
                return nil
            }
            forget([service], &state)
            state.refused.remove(service)
            return manifest
        }
        // Another request, or a sweep, may have removed it meanwhile.
        guard let removed else { return (catalog.manifests[service] != nil ? .announced : .unknown, nil) }
        log.info("service forgotten: an operator asked for it", ["name": service])
        onForgotten(service)
        return (await isSaved() ? .forgotten : .notWritten, ServiceOffer(removed))
    }

    /// Returns once the file has the known manifests; false if it could not be written.
    private func isSaved() async -> Bool {
        guard let file else { return true }
        return await withCheckedContinuation { continuation in
            state.withLock { state in
                file.save(state.known) { continuation.resume(returning: $0) }
            }
        }
    }
}

extension ServiceOffer {
    fileprivate init(_ manifest: Manifest) {
        self.init(manifest, digest: SHA256.hash(manifest.json.bytes).hexadecimal)
    }
}

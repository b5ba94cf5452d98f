import Contracts
import Synchronization

extension Directory {
    /// A service that nobody has announced for so long is forgotten: what it offered is not there any more, and not down.
    static let lifetime: Duration = .seconds(86_400)
    /// How often services are asked to announce themselves, and who was silent for too long is looked for.
    static let sweepInterval: Duration = .seconds(600)
    /// Forgets the services that did not announce themselves for a day, though they were asked, and asks all again.
    func sweep() {
        guard bus.isConnected else { return }
        let now = clock.now()
        let (forgotten, known) = state.withLock { state in
            // So that a clock that was set forward makes nobody old.
            for name in state.heard { state.announcedAt[name] = now }
            state.heard = []
            var forgotten: Set<String> = []
            if state.wasAsked {
                let oldest = now.adding(.zero - Self.lifetime)
                forgotten = Set(state.catalog.manifests.keys.filter { state.announcedAt[$0, default: now] < oldest })
            }
            state.catalog = state.catalog.removing(forgotten)
            for name in forgotten { (state.announcedAt[name], state.saved[name]) = (nil, nil) }
            state.wasAsked = true
            return (forgotten, state.known)
        }
        for name in forgotten {
            log.info("a service is forgotten that nobody has announced for a day", ["name": name])
            onForgotten(name)
        }
        file?.save(known)
        discover()
    }
}

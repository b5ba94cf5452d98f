import ParlorClient

/// A store that keeps the sessions in memory.
package final class MemorySessionStore: SessionStore {
    private let kept: Guarded<KeptSessions>
    private let onChange: @Sendable (Session?) -> Void

    /// - Parameter onChange: gets each new current session, and nil when nobody is signed in any more.
    package init(_ session: Session? = nil, onChange: @escaping @Sendable (Session?) -> Void = { _ in }) {
        kept = Guarded(KeptSessions(current: session))
        self.onChange = onChange
    }

    package func load() -> KeptSessions { kept.withLock { $0 } }

    package func save(_ sessions: KeptSessions) {
        let hasChanged = kept.withLock { kept in
            defer { kept = sessions }
            return kept.current != sessions.current
        }
        if hasChanged { onChange(sessions.current) }
    }
}

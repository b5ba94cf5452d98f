import Foundation

/// Where the session stays from one launch of the app to the next. An app and its extension name the same place
/// (<doc:Notifications>).
public struct SessionPlace: Sendable {
    package let store: @Sendable (_ server: URL) -> any SessionStore

    package init(_ store: @escaping @Sendable (_ server: URL) -> any SessionStore) { self.store = store }

    /// A file that only its owner can read. On Apple's systems use the keychain.
    ///
    /// Processes of one app can share the file. A lock file, whose name is that of the file with `.lock` appended, lets
    /// only one process change it at a time.
    public static func file(_ url: URL) -> SessionPlace { SessionPlace { _ in FileSessionStore(url: url) } }

    #if canImport(Darwin)
        /// The keychain, on this device only. It is readable after the first unlock.
        ///
        /// On macOS this is the data protection keychain, so the app needs a signature with an application identifier.
        ///
        /// - Parameters:
        ///   - accessGroup: the group shared with extensions; nil for the app alone. A session that was stored without
        ///     a group is not found with one: ``move(to:of:)`` moves it.
        ///   - lock: a file in the app group's container, the same for the app and its extensions. It is created if
        ///     missing. With a lock, only one process changes the keychain at a time. Without one, an extension may read
        ///     the stored token, but must not renew the session.
        public static func keychain(accessGroup: String? = nil, lock: URL? = nil) -> SessionPlace {
            SessionPlace { KeychainSessionStore(server: $0, accessGroup: accessGroup, lock: lock) }
        }
    #endif

    /// Moves a server's session to another place, for an app that is already released. It does nothing if nobody is
    /// signed in, or if the other place has a session. Call it before the ``ParlorAccount`` is made.
    ///
    /// - Throws: the keychain's or the file system's error. Make no account then; the next launch tries again.
    public func move(to place: SessionPlace, of server: URL) throws {
        let (old, new) = (store(server), place.store(server))
        let sessions = try old.load()
        guard sessions != KeptSessions() else { return }
        try new.exclusively {
            // An earlier launch may have copied them and ended before the last line.
            if try new.load() == KeptSessions() { try new.save(sessions) }
        }
        // Otherwise the next launch after a sign-out would move the old session again.
        try old.save(KeptSessions())
        // The two may be the same. Without an access group, the keychain searches all groups of the app.
        if try new.load() == KeptSessions() { try new.save(sessions) }
    }
}

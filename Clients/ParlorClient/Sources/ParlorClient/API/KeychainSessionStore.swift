#if canImport(Darwin)
    import Foundation
    import Security

    /// Stores sessions in the keychain, on this device only. They are readable after the first unlock.
    ///
    /// On macOS this is the data protection keychain, so the app needs a signature with an application identifier.
    ///
    /// With an access group and a lock, an extension of the app can share them (``NotificationLoader``). Without a
    /// lock, an extension may read the stored token, but must not renew the session.
    public struct KeychainSessionStore: SessionStore {
        /// The keychain's error.
        package struct Failure: LocalizedError, Sendable {
            package let status: OSStatus

            /// A sentence for an alert, in English, with the system's reason if it has one.
            package var errorDescription: String? {
                let reason = SecCopyErrorMessageString(status, nil) as String? ?? "error \(status)."
                return "The keychain of this device cannot be used: \(reason)"
            }
        }

        private let service: String
        private let account: String
        private let accessGroup: String?
        private let lock: FileLock?

        /// - Parameters:
        ///   - service: identifies the server, for example by its address.
        ///   - account: identifies the person, if the app has several.
        ///   - accessGroup: the group shared with extensions; nil for the app alone. A store with a group does not
        ///     find sessions that a store without a group has stored: <doc:Notifications> shows how to move them.
        ///   - lock: a file in the app group's container, the same for the app and its extensions. It is created
        ///     if missing. With a lock, only one process changes the keychain at a time. Pass nil if no extension
        ///     renews the session.
        public init(service: String, account: String = "session", accessGroup: String? = nil, lock: URL? = nil) {
            self.service = service
            self.account = account
            self.accessGroup = accessGroup
            self.lock = lock.map { FileLock(url: $0) }
        }

        /// Creates the store in which ``ParlorAccount`` has the sessions of a server.
        public init(server: URL, accessGroup: String? = nil, lock: URL? = nil) {
            self.init(service: server.serverFileName, accessGroup: accessGroup, lock: lock)
        }

        public func exclusively<Value>(_ body: () throws -> Value) throws -> Value {
            guard let lock else { return try body() }
            return try lock.withLock(body)
        }

        private func query(_ account: String) -> [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account,
                // On macOS, access groups and the time of access apply only in this keychain.
                kSecUseDataProtectionKeychain: true,
            ]
            if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
            return query
        }

        /// Returns the stored sessions; none if nothing is stored, or if this version cannot decode it. Such data stays
        /// until ``save(_:)`` sets it aside.
        public func load() throws -> KeptSessions { KeptSessions(decoding: try data()) ?? KeptSessions() }

        private func data() throws -> Data? {
            var query = self.query(account)
            query[kSecReturnData] = true
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess, let data = found as? Data else { throw Failure(status: status) }
            return data
        }

        /// Replaces the stored sessions. Data that this version cannot decode is kept, under the account's name with
        /// `.unreadable` appended.
        public func save(_ sessions: KeptSessions) throws {
            if let stored = try data(), KeptSessions(decoding: stored) == nil {
                try write(stored, account + ".unreadable")
            }
            try write(JSONEncoder().encode(sessions), account)
        }

        private func write(_ data: Data, _ account: String) throws {
            let query = self.query(account)
            let values: [CFString: Any] = [
                kSecValueData: data,
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemUpdate(query as CFDictionary, values as CFDictionary)
            if status == errSecItemNotFound {
                status = SecItemAdd(query.merging(values) { $1 } as CFDictionary, nil)
            }
            guard status == errSecSuccess else { throw Failure(status: status) }
        }
    }
#endif

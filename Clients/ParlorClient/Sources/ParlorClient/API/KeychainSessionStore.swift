#if canImport(Darwin)
    import Foundation
    import Security

    /// Stores sessions in the keychain (``SessionPlace/keychain(accessGroup:lock:)``).
    struct KeychainSessionStore: SessionStore {
        /// The keychain's error.
        struct Failure: LocalizedError, Sendable {
            let status: OSStatus

            /// A sentence for an alert, in English, with the system's reason if it has one.
            var errorDescription: String? {
                let reason = SecCopyErrorMessageString(status, nil) as String? ?? "error \(status)."
                return "The keychain of this device cannot be used: \(reason)"
            }
        }

        private let service: String
        private let account = "session"
        private let accessGroup: String?
        private let lock: FileLock?

        /// The store of a server's sessions.
        init(server: URL, accessGroup: String? = nil, lock: URL? = nil) {
            service = server.serverFileName
            self.accessGroup = accessGroup
            self.lock = lock.map { FileLock(url: $0) }
        }

        func exclusively<Value>(_ body: () throws -> Value) throws -> Value {
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
        func load() throws -> KeptSessions { KeptSessions(decoding: try data()) ?? KeptSessions() }

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
        func save(_ sessions: KeptSessions) throws {
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

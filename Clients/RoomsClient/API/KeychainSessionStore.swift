#if canImport(Darwin)
    import Foundation
    import Security

    /// Keeps sessions in the keychain, on this device only. They are readable after the first unlock.
    ///
    /// With an access group, extensions of the app can read them too. Only one process may renew a session:
    /// an extension uses the stored token and never requests another.
    public struct KeychainSessionStore: SessionStore {
        public struct Failure: Error, Sendable {
            public let status: OSStatus
        }

        private let service: String
        private let account: String
        private let accessGroup: String?

        /// - Parameters:
        ///   - service: identifies the server, for example by its address.
        ///   - account: identifies the person, if the app has several.
        ///   - accessGroup: the group shared with extensions; nil for the app alone.
        public init(service: String, account: String = "session", accessGroup: String? = nil) {
            self.service = service
            self.account = account
            self.accessGroup = accessGroup
        }

        private var query: [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account,
            ]
            if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
            return query
        }

        public func load() throws -> KeptSessions {
            var query = query
            query[kSecReturnData] = true
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return KeptSessions() }
            guard status == errSecSuccess, let data = found as? Data else { throw Failure(status: status) }
            // Contents that this version does not know count as no session.
            return (try? JSONDecoder().decode(KeptSessions.self, from: data)) ?? KeptSessions()
        }

        public func save(_ sessions: KeptSessions) throws {
            let values: [CFString: Any] = [
                kSecValueData: try JSONEncoder().encode(sessions),
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

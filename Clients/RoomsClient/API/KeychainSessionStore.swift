#if canImport(Darwin)
    import Foundation
    import Security

    /// Keeps sessions in the keychain: readable after the first unlock, on this device alone.
    ///
    /// With an access group an extension of the app reads them too. One process alone may renew a session: an extension reads the
    /// token, and asks for no other.
    public struct KeychainSessionStore: SessionStore {
        public struct Failure: Error, Sendable {
            public let status: OSStatus
        }

        private let service: String
        private let account: String
        private let accessGroup: String?

        /// - Parameters:
        ///   - service: names the server, its address for one.
        ///   - account: names the person, where an app has several.
        ///   - accessGroup: shared with extensions; nil: the app's own.
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
            // Contents that this version does not know are no session.
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

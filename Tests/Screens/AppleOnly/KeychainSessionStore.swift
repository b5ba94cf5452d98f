import Foundation
import ParlorClient

/// The library's `KeychainSessionStore` exists on Apple's systems only. This one has the same initializer and
/// conformance.
public nonisolated struct KeychainSessionStore: SessionStore {
    public init(service: String, account: String = "session", accessGroup: String? = nil, lock: URL? = nil) {}
    public func load() throws -> KeptSessions { KeptSessions() }
    public func save(_ sessions: KeptSessions) throws {}
}

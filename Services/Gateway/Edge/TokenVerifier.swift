import Contracts
import Security
import ServiceKit
import Synchronization

/// Reads access tokens, without a call to anyone.
///
/// Clients send the same token with each request until it expires. What was found of it is cached, by the whole field that it came in: a
/// signature and two JSON texts need not be read again. Time and session are looked at each time.
package struct TokenVerifier: Sendable {
    private let keys: JSONWebKeySet
    private let clock: any WallClock
    private let ended: EndedSessions
    private let cache = TokenCache()

    package init(keys: JSONWebKeySet, clock: any WallClock, ended: EndedSessions) {
        self.keys = keys
        self.clock = clock
        self.ended = ended
    }

    /// nil for a token that is not believed, whatever the reason: its session has ended, for one.
    package func verify(_ token: String) -> AccessClaims? {
        signedClaims(of: token).flatMap { ended.refuses($0) ? nil : $0 }
    }

    private func signedClaims(of token: String) -> AccessClaims? {
        do throws(JSONWebTokenError) {
            return AccessClaims(try JSONWebToken.verify(token, keys: keys, at: now))
        } catch {
            return nil
        }
    }

    /// In seconds since 1970.
    private var now: Int { clock.now().milliseconds / 1000 }

    /// True while it is unknown if the session has ended: after the gateway's start, until the
    /// service that ends sessions announces itself.
    package func isTooEarly(for claims: AccessClaims) -> Bool { claims.sessionID != nil && !ended.isKnown }

    /// The person and session of a request.
    ///
    /// - Throws: `unauthenticated`; `service_unavailable` while it is unknown if the session has
    ///   ended.
    package func claims(authorization field: String?) throws(ServiceError) -> AccessClaims {
        guard let claims = verify(authorization: field) else { throw ServiceError(.unauthenticated, "Log in first.") }
        guard !isTooEarly(for: claims) else { throw .unavailable("A part of this service") }
        return claims
    }

    /// From an `Authorization` field: `Bearer TOKEN`, the scheme in any case (RFC 9110, section 11.1).
    package func verify(authorization field: String?) -> AccessClaims? {
        guard let field else { return nil }
        if let cached = cache[field] {
            return now < cached.expiresAt && !ended.refuses(cached) ? cached : nil
        }
        guard let space = field.firstIndex(of: " "), field[..<space].lowercased() == "bearer",
            let claims = signedClaims(of: String(field[field.index(after: space)...]))
        else { return nil }
        cache.put(claims, for: field)
        return ended.refuses(claims) ? nil : claims
    }
}

/// The claims of tokens whose signature was right. At most some 8 MB: those that were not sent for longest are forgotten.
private final class TokenCache: Sendable {
    private static let generationSize = 4096
    /// Ours have 300 bytes. Longer ones are read each time.
    private static let maxFieldBytes = 1024

    private let claims = Mutex(Generations<String, AccessClaims>(maxCount: generationSize))

    subscript(field: String) -> AccessClaims? {
        mayHold(field) ? claims.withLock { $0.use(field) } : nil
    }

    func put(_ found: AccessClaims, for field: String) {
        if mayHold(field) { claims.withLock { $0.put(found, for: field) } }
    }

    private func mayHold(_ field: String) -> Bool { field.utf8.count <= Self.maxFieldBytes }
}

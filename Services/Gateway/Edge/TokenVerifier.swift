import ParlorContracts
import ParlorEdge
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import Synchronization

/// Verifies access tokens, without a request.
///
/// Clients send the same token with each request until it expires. Its claims are cached, by the whole
/// header, so that a signature and two JSON texts need not be processed again. Time and session are checked
/// each time.
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

    /// Returns the claims of a token; nil if it is refused for any reason, such as an ended session.
    package func verify(_ token: String) -> AccessClaims? {
        signedClaims(of: token).flatMap { ended.refuses($0) ? nil : $0 }
    }

    /// Returns the claims of a socket that connects: of the first valid token in the CONNECT payload, the query and the
    /// Authorization header. Some clients cannot renew all of these when they connect again.
    func verify(_ handshake: SocketHandshake, auth: JSONValue?) -> AccessClaims? {
        for given in [auth?["token"]?.string, handshake.token] {
            guard let given else { continue }
            if let claims = verify(Self.token(inBearer: given) ?? given) { return claims }
        }
        return verify(authorization: handshake.authorization)
    }

    /// Returns the token of `Bearer TOKEN`, with the scheme in any case and one space or more (RFC 9110, section 11.4);
    /// nil for anything else.
    private static func token(inBearer field: String) -> String? {
        guard let space = field.firstIndex(of: " "), field[..<space].lowercased() == "bearer" else { return nil }
        return String(field[space...].drop { $0 == " " })
    }

    private func signedClaims(of token: String) -> AccessClaims? {
        do throws(JSONWebTokenError) {
            return AccessClaims(try JSONWebToken.verify(token, keys: keys, at: now))
        } catch {
            return nil
        }
    }

    /// The current time in seconds since 1970.
    private var now: Int { clock.now().milliseconds / 1000 }

    /// Returns true while it is unknown whether the session has ended: from the gateway's start until the earlier ended
    /// sessions have been fetched.
    package func isTooEarly(for claims: AccessClaims) -> Bool { claims.sessionID != nil && !ended.isKnown }

    /// Returns the person and session of a request.
    ///
    /// - Throws: `unauthenticated`; `service_unavailable` while it is unknown whether the session has ended.
    package func claims(authorization field: String?) throws(ServiceError) -> AccessClaims {
        guard let claims = verify(authorization: field) else { throw ServiceError(.unauthenticated, "Log in first.") }
        guard !isTooEarly(for: claims) else { throw .unavailable("A part of this service") }
        return claims
    }

    /// Returns the claims of an `Authorization` header: `Bearer TOKEN`.
    package func verify(authorization field: String?) -> AccessClaims? {
        guard let field else { return nil }
        if let cached = cache[field] {
            return now < cached.expiresAt && !ended.refuses(cached) ? cached : nil
        }
        guard let token = Self.token(inBearer: field), let claims = signedClaims(of: token) else { return nil }
        cache.put(claims, for: field)
        return ended.refuses(claims) ? nil : claims
    }
}

/// The claims of tokens with a valid signature. It takes at most some 8 MB: the least recently used are
/// evicted.
private final class TokenCache: Sendable {
    private static let generationSize = 4096
    /// The length limit of cached headers. Our tokens have 300 bytes; longer ones are verified each time.
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

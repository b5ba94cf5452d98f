import Contracts
import Security
import ServiceKit

/// Reads access tokens, without a call to anyone.
struct TokenVerifier: Sendable {
    let keys: JSONWebKeySet
    let clock: any WallClock
    let ended: EndedSessions

    /// nil for a token that is not believed, whatever the reason: its session has ended, for one.
    func verify(_ token: String) -> AccessClaims? {
        do throws(JSONWebTokenError) {
            let claims = AccessClaims(try JSONWebToken.verify(token, keys: keys, at: clock.now().milliseconds / 1000))
            return claims.flatMap { ended.refuses($0) ? nil : $0 }
        } catch {
            return nil
        }
    }

    /// Whether it is not known yet whether the session has ended: as long as nothing was heard of the service that ends them, after the
    /// gateway's start.
    func isTooEarly(for claims: AccessClaims) -> Bool { claims.sessionID != nil && !ended.isKnown }

    /// Who sends a request.
    ///
    /// - Throws: `unauthenticated`; `service_unavailable` if it is too early to say.
    func claims(authorization field: String?) throws(ServiceError) -> AccessClaims {
        guard let claims = verify(authorization: field) else { throw ServiceError(.unauthenticated, "Log in first.") }
        guard !isTooEarly(for: claims) else { throw .unavailable("A part of this service") }
        return claims
    }

    /// From an `Authorization` field: `Bearer TOKEN`, the scheme in any case (RFC 9110, section 11.1).
    func verify(authorization field: String?) -> AccessClaims? {
        guard let field, let space = field.firstIndex(of: " "), field[..<space].lowercased() == "bearer" else {
            return nil
        }
        return verify(String(field[field.index(after: space)...]))
    }
}

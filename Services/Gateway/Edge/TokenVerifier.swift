import Contracts
import Security
import ServiceKit

/// Reads access tokens, without a call to anyone.
struct TokenVerifier: Sendable {
    let keys: JSONWebKeySet
    let clock: any WallClock

    /// nil for a token that is not believed, whatever the reason.
    func verify(_ token: String) -> AccessClaims? {
        do throws(JSONWebTokenError) {
            return AccessClaims(try JSONWebToken.verify(token, keys: keys, at: clock.now().milliseconds / 1000))
        } catch {
            return nil
        }
    }

    /// From an `Authorization` field: `Bearer TOKEN`, the scheme in any case (RFC 9110, section 11.1).
    func verify(authorization field: String?) -> AccessClaims? {
        guard let field, let space = field.firstIndex(of: " "), field[..<space].lowercased() == "bearer" else {
            return nil
        }
        return verify(String(field[field.index(after: space)...]))
    }
}

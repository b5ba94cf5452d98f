import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import Synchronization

/// The token with which a team authenticates to Apple's push service. It is created when it is first needed. It is
/// created again only when it is old, when Apple reports it as expired, or when the clock was set back. Apple refuses tokens that are created
/// more often than every 20 minutes, or are older than an hour.
final class ProviderTokens: Sendable {
    static let lifetime: Duration = .seconds(50 * 60)

    struct Token: Sendable, Equatable {
        let text: String
        let madeAt: Timestamp
        /// True if it was created because Apple reported the previous one as expired.
        let isReplacement: Bool
    }

    private let key: ES256Key
    let keyID: String
    let teamID: String
    private let clock: any WallClock
    private let made: Counter
    private let current = Mutex<Token?>(nil)

    init(key: ES256Key, keyID: String, teamID: String, clock: any WallClock, metrics: Metrics) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
        self.clock = clock
        made = metrics.counter("parlor_push_provider_tokens_total", "Tokens made for Apple's push service.")
    }

    func token() -> Token {
        let now = clock.now()
        return current.withLock { current in
            if let token = current, token.madeAt.adding(Self.lifetime) > now, token.madeAt <= now { return token }
            return make(at: now, isReplacement: false, &current)
        }
    }

    /// Returns a new token for one that Apple reported as expired. If several callers report the same one, the
    /// first creates the replacement.
    ///
    /// - Returns: nil if the expired token was itself such a replacement: then the token is not the cause.
    func replacement(for used: Token) -> Token? {
        let now = clock.now()
        return current.withLock { current in
            if let token = current, token != used { return token }
            return used.isReplacement ? nil : make(at: now, isReplacement: true, &current)
        }
    }

    private func make(at now: Timestamp, isReplacement: Bool, _ current: inout Token?) -> Token {
        let claims = JSONWriter.object {
            $0.member("iss", teamID)
            $0.member("iat", now.milliseconds / 1000)
        }
        let token = Token(
            text: JSONWebToken.sign(claims, with: key, id: keyID), madeAt: now, isReplacement: isReplacement)
        made.add()
        current = token
        return token
    }
}

import ParlorContracts
import ParlorSecurity
import ParlorStorage

/// The SQL of guesses at passwords and of the networks that people sign in from, in the transaction of a
/// connection.
///
/// A network here is an address: an IPv4 address or an IPv6 /64. Wrong guesses are counted for each account, and
/// separately for each network from which it has signed in. So guesses from elsewhere never lock out a person
/// in a known network.
struct GuessesStore {
    /// The burst limit of guesses at an account, for each of its known networks and for all other networks
    /// together. In the long run all unknown networks together have 120 guesses an hour.
    static let atOnce = 10
    /// The interval after which one more guess is allowed, in milliseconds.
    private static let interval = 30_000

    /// The limit of networks that an account remembers: the most recently used ones.
    private static let maxNetworksOfPerson = 20
    /// How long an account remembers a network: 90 days, in milliseconds.
    private static let networkMemory = 90 * 86_400_000
    /// The interval at which the use of a network is stored, in milliseconds.
    private static let networkRefresh = 86_400_000

    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// A counted sign-in attempt. It is refunded if the password was right or was not checked.
    struct Guess: Sendable {
        let subject: String
        /// The network; `""` stands for all networks that are not known networks of the account.
        let network: String
    }

    enum SigningIn: Sendable {
        case mayTry(PeopleStore.Credentials?, Guess?)
        case refused(retryAfter: Int)
    }

    /// Finds the person with this name, and counts a guess before the password is checked: otherwise
    /// concurrent guesses would all pass.
    ///
    /// An unknown name is counted in the same way, so that neither the answer nor its time reveals it.
    ///
    /// - Parameter key: nil for a text that cannot be a name.
    func beginSigningIn(
        _ name: String, key: String?, from client: SigningClient, at now: Timestamp
    ) throws -> SigningIn {
        let found = try key.flatMap { try PeopleStore(connection).credentials(named: $0) }
        let subject = found?.account.id ?? "?" + Base64URL.encode(SHA256.hash(Array(name.lowercased().utf8)))
        let isKnown = try connection.exists(
            "SELECT 1 FROM known_networks WHERE person_id = $1 AND network = $2 AND used_at > $3", subject,
            client.network, now.milliseconds - Self.networkMemory)
        let guess = Guess(subject: subject, network: isKnown ? client.network : "")
        if let wait = try count(guess, at: now.milliseconds) { return .refused(retryAfter: wait) }
        return .mayTry(found, guess)
    }

    /// Completes a sign-in with the right password: the guess is refunded, and a session begins.
    ///
    /// - Parameters:
    ///   - checked: the hash that the password matched.
    ///   - raised: a new hash to replace it.
    /// - Returns: false, with nothing changed, if the person has another password by now.
    func completeSigningIn(
        _ session: NewSession, of personID: String, checked: String, raised: String?, _ guess: Guess?
    ) throws -> Bool {
        guard try PeopleStore(connection).replaceHash(checked, by: raised ?? checked, of: personID) else {
            return false
        }
        try SessionsStore(connection).insert(session, of: personID)
        if let guess { try uncount(guess) }
        return true
    }

    /// Counts a guess by the generic cell rate algorithm (ITU-T I.371), like the gateway's limits. A row has
    /// the time at which its count is zero again. Each call deletes the rows whose time has passed.
    ///
    /// - Returns: the seconds to wait, if there are too many.
    private func count(_ guess: Guess, at now: Int) throws -> Int? {
        try connection.execute("DELETE FROM guesses WHERE back_at <= $1", now)
        var before = try backAt(guess) ?? now
        let latest = now + Self.atOnce * Self.interval
        if before > latest {
            // The clock was ahead when an earlier guess was counted. Cap the time, so that nobody waits longer than
            // after a full burst.
            before = latest
            try setBackAt(before, guess)
        }
        let next = before + Self.interval
        let wait = next - now - Self.atOnce * Self.interval
        guard wait <= 0 else { return (wait + 999) / 1000 }
        try setBackAt(next, guess)
        return nil
    }

    private func setBackAt(_ time: Int, _ guess: Guess) throws {
        try connection.execute(
            """
            INSERT INTO guesses (subject, network, back_at) VALUES ($1, $2, $3)
            ON CONFLICT (subject, network) DO UPDATE SET back_at = $3
            """, guess.subject, guess.network, time)
    }

    /// Refunds a guess: the password was right, or was not checked.
    func uncount(_ guess: Guess) throws {
        // A row whose time has passed is deleted with the next guess that is counted.
        try connection.execute(
            "UPDATE guesses SET back_at = back_at - $3 WHERE subject = $1 AND network = $2", guess.subject,
            guess.network, Self.interval)
    }

    private func backAt(_ guess: Guess) throws -> Int? {
        try connection.first(
            "SELECT back_at FROM guesses WHERE subject = $1 AND network = $2", guess.subject, guess.network
        ) { $0.int(0) }
    }

    /// Records that the person signed in, or refreshed a session, from a network.
    func noteNetwork(_ network: String, of personID: String, at now: Timestamp) throws {
        guard !network.isEmpty else { return }
        let last = try connection.first(
            "SELECT used_at FROM known_networks WHERE person_id = $1 AND network = $2", personID, network
        ) { $0.int(0) }
        if let last, last > now.milliseconds - Self.networkRefresh { return }
        try connection.execute(
            """
            INSERT INTO known_networks (person_id, network, used_at) VALUES ($1, $2, $3)
            ON CONFLICT (person_id, network) DO UPDATE SET used_at = $3
            """, personID, network, now.milliseconds)
        try connection.execute(
            """
            DELETE FROM known_networks WHERE person_id = $1 AND network NOT IN
                (SELECT network FROM known_networks WHERE person_id = $1 AND used_at > $3
                 ORDER BY used_at DESC, network LIMIT $2)
            """, personID, Self.maxNetworksOfPerson, now.milliseconds - Self.networkMemory)
    }
}

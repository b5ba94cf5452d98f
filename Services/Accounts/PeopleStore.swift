import ParlorContracts
import ParlorStorage
import ParlorText

/// The SQL of people, in the transaction of a connection.
///
/// The `…_key` columns contain texts that are compared without regard to case. They are lower-cased here,
/// because databases lower-case letters beyond ASCII in different ways.
struct PeopleStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    // MARK: Writes

    enum Registration: Sendable {
        case done
        case usernameTaken
        case emailTaken
    }

    struct Newcomer: Sendable {
        let id: String
        let username: Username
        let firstName: FirstName?
        let email: EmailAddress?
        let passwordHash: String
    }

    /// Adds a person, and signs them in.
    func register(_ newcomer: Newcomer, _ session: NewSession) throws -> Registration {
        // The first one gets the name: the unique columns decide, not an earlier check.
        let inserted = try connection.execute(
            """
            INSERT INTO people
                (id, username, username_key, first_name, first_name_key, email, email_key, password_hash, created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT DO NOTHING
            """, newcomer.id, newcomer.username.text, newcomer.username.key, newcomer.firstName?.text,
            newcomer.firstName?.key, newcomer.email?.text, newcomer.email?.key, newcomer.passwordHash,
            session.now.milliseconds)
        guard inserted == 1 else {
            let isUsername = try connection.exists(
                "SELECT 1 FROM people WHERE username_key = $1", newcomer.username.key)
            return isUsername ? .usernameTaken : .emailTaken
        }
        try SessionsStore(connection).insert(session, of: newcomer.id)
        return .done
    }

    typealias NamedPerson = (id: String, firstName: String)

    /// Returns people who were registered before keys had one normal form, by id.
    func peopleWithOldKeys(after id: String, limit: Int) throws -> [NamedPerson] {
        try connection.all(
            "SELECT id, first_name FROM people WHERE id > $1 AND has_old_key = 1 ORDER BY id LIMIT $2", id, limit
        ) { (id: $0.text(0), firstName: $0.text(1)) }
    }

    func renewKeys(of people: [NamedPerson]) throws {
        for person in people {
            try connection.execute(
                "UPDATE people SET first_name_key = $2, has_old_key = 0 WHERE id = $1", person.id,
                person.firstName.searchKey)
        }
    }

    /// Replaces a person's hash if it is the known one.
    ///
    /// - Returns: false if the person has another hash by now.
    func replaceHash(_ known: String, by new: String, of personID: String) throws -> Bool {
        try connection.execute(
            "UPDATE people SET password_hash = $3 WHERE id = $1 AND password_hash = $2", personID, known, new) == 1
    }

    // MARK: Reads

    /// A person, and the hash of their password.
    struct Credentials: Sendable {
        let account: Account
        let passwordHash: String
    }

    /// Returns credentials by username or e-mail address. These cannot be confused: only an address has an
    /// `@`.
    func credentials(named key: String) throws -> Credentials? {
        try connection.first(
            "SELECT \(Self.accountColumns), password_hash FROM people WHERE username_key = $1 OR email_key = $1", key,
            body: Self.credentials)
    }

    func credentials(of personID: String) throws -> Credentials? {
        try connection.first(
            "SELECT \(Self.accountColumns), password_hash FROM people WHERE id = $1", personID, body: Self.credentials)
    }

    private static func credentials(_ row: Row) -> Credentials {
        Credentials(account: account(row), passwordHash: row.text(4))
    }

    func account(_ id: String) throws -> Account? {
        try connection.first("SELECT \(Self.accountColumns) FROM people WHERE id = $1", id, body: Self.account)
    }

    /// Returns the accounts that exist, in no order.
    func accounts(_ ids: [String]) throws -> [Account] {
        try connection.all(
            "SELECT \(Self.accountColumns) FROM people WHERE id IN (SELECT value FROM json_each($1))",
            SQLValue.list(ids), body: Self.account)
    }

    /// Returns people in the order of their username keys: those after `usernameKey`.
    ///
    /// - Parameter prefix: the start of their username or first name, without regard to case.
    func people(startingWith prefix: String, after usernameKey: String, limit: Int) throws -> [Account] {
        let range = PrefixRange(prefix.searchKey)
        let start = range.start.utf8.lexicographicallyPrecedes(usernameKey.utf8) ? usernameKey : range.start
        let statement =
            if prefix.isEmpty {
                Self.anyPeople
            } else if try firstNames(in: range) <= Self.maxSorted {
                Self.peopleByPrefix
            } else {
                Self.peopleInOrder
            }
        return try connection.all(
            statement, usernameKey, start, range.end, limit, range.start, body: Self.account)
    }

    /// Returns the number of first names in a range, counted up to `maxSorted` and one more.
    private func firstNames(in range: PrefixRange) throws -> Int {
        try connection.first(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM people WHERE first_name_key >= $1 AND first_name_key < $2 LIMIT \(Self.maxSorted + 1)
            ) AS found
            """, range.start, range.end
        ) { $0.int(0) } ?? 0
    }

    /// The limit of first names that are sorted for one page.
    private static let maxSorted = 1000

    private static let anyPeople = """
        SELECT \(accountColumns) FROM people
        WHERE username_key >= $2 AND username_key <> $1 AND username_key < $3 AND $5 = ''
        ORDER BY username_key LIMIT $4
        """

    /// Two ranges of two indexes, each with its own limit: an OR would scan the whole table for a rare name.
    private static let peopleByPrefix = """
        SELECT \(accountColumns) FROM (
            SELECT * FROM (
                SELECT \(accountColumns), username_key FROM people
                WHERE username_key >= $2 AND username_key <> $1 AND username_key < $3
                ORDER BY username_key LIMIT $4
            ) AS by_username
            UNION
            SELECT * FROM (
                SELECT \(accountColumns), username_key FROM people
                WHERE first_name_key >= $5 AND first_name_key < $3 AND username_key > $1
                ORDER BY username_key LIMIT $4
            ) AS by_first_name
        ) AS found
        ORDER BY username_key LIMIT $4
        """

    /// The same people, found in the order of the page: a page ends after `limit` of them. It reads all people in between,
    /// so matches that sort last are slow. The concatenations keep both engines from sorting all matches.
    private static let peopleInOrder = """
        SELECT \(accountColumns) FROM people
        WHERE username_key > $1
            AND ((username_key || '' >= $2 AND username_key || '' < $3)
                OR (first_name_key || '' >= $5 AND first_name_key || '' < $3))
        ORDER BY username_key LIMIT $4
        """

    private static let accountColumns = "id, username, first_name, email"

    private static func account(_ row: Row) -> Account {
        Account(id: row.text(0), username: row.text(1), firstName: row.textOrNil(2), email: row.textOrNil(3))
    }
}

/// The range of texts that start with a prefix, in byte order. An index supports a range in both databases,
/// but not always a LIKE pattern.
struct PrefixRange {
    let start: String
    /// The first text after the range.
    let end: String

    /// A text after every stored text: byte order is the order of scalars, and no stored text starts with
    /// this one.
    private static let last = "\u{10FFFF}\u{10FFFF}"

    init(_ prefix: String) {
        start = prefix
        var scalars = Array(prefix.unicodeScalars)
        while let scalar = scalars.popLast() {
            // 0xD7FF is followed by the surrogates, which are no scalars.
            let next = scalar.value == 0xD7FF ? 0xE000 : scalar.value + 1
            guard let successor = Unicode.Scalar(next) else { continue }
            var end = String.UnicodeScalarView()
            end.append(contentsOf: scalars)
            end.append(successor)
            self.end = String(end)
            return
        }
        end = Self.last
    }
}

import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL that recounts the stored numbers of boards, in the transaction of a connection.
struct CountsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// The totals of a room's elements.
    struct Rows {
        let count: Int
        /// The sum of their sizes.
        let bytes: Int
        /// The number of creations and updates of the existing elements.
        let changes: Int
        let lastRank: Int
        let changedAt: Timestamp

        var leastRev: Int { max(changes, lastRank) }
    }

    /// Returns the ids of rooms in order, including those whose board is missing.
    func roomIDs(after id: String, limit: Int) throws -> [String] {
        try connection.all(
            """
            SELECT room_id FROM boards WHERE room_id > $1
            UNION SELECT room_id FROM elements WHERE room_id > $1
            UNION SELECT room_id FROM unseen WHERE room_id > $1
            UNION SELECT room_id FROM unseen_elements WHERE room_id > $1
            ORDER BY 1 LIMIT $2
            """, id, limit
        ) { $0.text(0) }
    }

    func board(of roomID: String) throws -> BoardState? {
        try connection.first("SELECT element_count, rev, changed_at FROM boards WHERE room_id = $1", roomID) {
            BoardState(elementCount: $0.int(0), rev: $0.int(1), changedAt: $0.time(2))
        }
    }

    func bytes(of roomID: String) throws -> Int? {
        try connection.first("SELECT bytes FROM boards WHERE room_id = $1", roomID) { $0.int(0) }
    }

    /// An element whose stored size is wrong, or that is charged to nobody.
    ///
    /// Instances of an older version store neither: they insert 0 and no person, and leave the size unchanged
    /// when they change the content.
    struct Misjudged {
        let id: String
        let keptSize: Int
        let size: Int
        let keptPerson: String
        let person: String
    }

    /// Returns the room's elements with wrong values, oldest first.
    func misjudgedElements(of roomID: String) throws -> [Misjudged] {
        // SQL's `length` counts characters, not bytes. For most contents both are equal, so the statement skips most
        // correct sizes. A size in characters counts as correct, too: migration 3 gave existing elements such sizes.
        try connection.all(
            """
            SELECT id, content, size, charged_to, created_by FROM elements
            WHERE room_id = $1 AND (size <> length(content) + \(Element.overhead) OR charged_to = '') ORDER BY rank
            """, roomID
        ) { row in
            let content = row.text(1)
            let (size, person) = (row.int(2), row.text(3))
            let isInCharacters = size == content.unicodeScalars.count + Element.overhead
            return Misjudged(
                id: row.text(0), keptSize: size,
                size: isInCharacters ? size : content.utf8.count + Element.overhead,
                keptPerson: person, person: person.isEmpty ? row.text(4) : person)
        }.filter { $0.size != $0.keptSize || $0.person != $0.keptPerson }
    }

    /// - Parameter misjudged: the room's elements whose stored values are to be corrected in the count.
    func rows(of roomID: String, correcting misjudged: [Misjudged]) throws -> Rows {
        let rows = try connection.first(
            """
            SELECT count(*), coalesce(sum(version), 0), coalesce(max(rank), 0), coalesce(max(updated_at), 0),
                coalesce(sum(size), 0)
            FROM elements WHERE room_id = $1
            """, roomID
        ) {
            Rows(
                count: $0.int(0), bytes: $0.int(4) + misjudged.reduce(0) { $0 + $1.size - $1.keptSize },
                changes: $0.int(1), lastRank: $0.int(2),
                changedAt: $0.time(3))
        }
        guard let rows else { preconditionFailure("an aggregate has a row") }
        return rows
    }

    /// Returns the stored counts by person.
    func unseenCounts(in roomID: String) throws -> [String: Int] {
        try byPerson("SELECT user_id, count FROM unseen WHERE room_id = $1", roomID)
    }

    func unseenRows(in roomID: String) throws -> [String: Int] {
        try byPerson("SELECT user_id, count(*) FROM unseen_elements WHERE room_id = $1 GROUP BY user_id", roomID)
    }

    private func byPerson(_ sql: String, _ roomID: String) throws -> [String: Int] {
        let counts = try connection.all(sql, roomID) { ($0.text(0), $0.int(1)) }
        return Dictionary(uniqueKeysWithValues: counts)
    }

    func whoHasOpen(_ roomID: String) throws -> Set<String> {
        Set(try connection.all("SELECT user_id FROM open_rooms WHERE room_id = $1", roomID) { $0.text(0) })
    }

    /// A person's totals.
    struct Account: Equatable {
        let elements: Int
        let bytes: Int
    }

    /// Returns the stored accounts by person.
    func accounts() throws -> [String: Account] {
        try byPerson("SELECT user_id, element_count, bytes FROM people")
    }

    /// Returns the accounts as counted from all elements.
    func accountRows() throws -> [String: Account] {
        try byPerson(
            """
            SELECT CASE WHEN charged_to = '' THEN created_by ELSE charged_to END, count(*), sum(size)
            FROM elements GROUP BY 1
            """)
    }

    private func byPerson(_ sql: String) throws -> [String: Account] {
        let accounts = try connection.all(sql) { ($0.text(0), Account(elements: $0.int(1), bytes: $0.int(2))) }
        return Dictionary(uniqueKeysWithValues: accounts)
    }

    // MARK: Repairing

    func setAccount(_ account: Account, of userID: String) throws {
        try connection.execute(
            """
            INSERT INTO people (user_id, element_count, bytes) VALUES ($1, $2, $3)
            ON CONFLICT (user_id) DO UPDATE SET element_count = excluded.element_count, bytes = excluded.bytes
            """, userID, account.elements, account.bytes)
    }

    func set(_ size: Int, chargedTo person: String, ofElement id: String) throws {
        try connection.execute("UPDATE elements SET size = $2, charged_to = $3 WHERE id = $1", id, size, person)
    }

    /// Stores the count of elements. If the board exists, its other values are not changed.
    func setCount(_ rows: Rows, of roomID: String) throws {
        try connection.execute(
            """
            INSERT INTO boards (room_id, element_count, rev, changed_at, bytes) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (room_id) DO UPDATE SET element_count = excluded.element_count
            """, roomID, rows.count, rows.leastRev, rows.changedAt.milliseconds, rows.bytes)
    }

    func setBytes(_ bytes: Int, of roomID: String) throws {
        try connection.execute("UPDATE boards SET bytes = $2 WHERE room_id = $1", roomID, bytes)
    }

    func setRev(_ rev: Int, of roomID: String) throws {
        try connection.execute("UPDATE boards SET rev = $2 WHERE room_id = $1", roomID, rev)
    }

    func setTime(_ time: Timestamp, of roomID: String) throws {
        try connection.execute("UPDATE boards SET changed_at = $2 WHERE room_id = $1", roomID, time.milliseconds)
    }

    func setUnseen(_ count: Int, of userID: String, in roomID: String) throws {
        guard count > 0 else {
            try connection.execute("DELETE FROM unseen WHERE room_id = $1 AND user_id = $2", roomID, userID)
            try connection.execute("DELETE FROM unseen_elements WHERE room_id = $1 AND user_id = $2", roomID, userID)
            return
        }
        try connection.execute(
            """
            INSERT INTO unseen (room_id, user_id, count) VALUES ($1, $2, $3)
            ON CONFLICT (room_id, user_id) DO UPDATE SET count = excluded.count
            """, roomID, userID, count)
    }
}

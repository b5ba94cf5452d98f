import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL of boards, of their elements, and of the elements that each person has not seen, in the
/// transaction of a connection.
struct BoardStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    // MARK: Boards and accounts

    /// Raises the `rev` of a room's board by one, and adds these amounts to its element count and bytes.
    ///
    /// - Returns: nil, with nothing changed, if the board would exceed the limit.
    func advance(
        _ roomID: String, by elements: Int, _ bytes: Int, upTo limit: BoardLimits.Amount, at now: Timestamp
    ) throws -> BoardState? {
        try connection.first(
            """
            INSERT INTO boards (room_id, element_count, rev, changed_at, bytes) VALUES ($1, $2, 1, $3, $4)
            ON CONFLICT (room_id) DO UPDATE SET
                element_count = boards.element_count + excluded.element_count,
                bytes = boards.bytes + excluded.bytes,
                rev = boards.rev + 1,
                changed_at = CASE
                    WHEN boards.changed_at > excluded.changed_at THEN boards.changed_at ELSE excluded.changed_at END
            WHERE boards.element_count + excluded.element_count <= $5 AND boards.bytes + excluded.bytes <= $6
            RETURNING element_count, rev, changed_at
            """, roomID, elements, now.milliseconds, bytes, elements > 0 ? limit.elements : .max,
            bytes > 0 ? limit.bytes : .max
        ) {
            BoardState(elementCount: $0.int(0), rev: $0.int(1), changedAt: $0.time(2))
        }
    }

    /// Adds a charge to a person's account.
    ///
    /// - Returns: false, with nothing changed, if the account would exceed the limit.
    func apply(_ charge: Charge, upTo limit: BoardLimits.Amount) throws -> Bool {
        try connection.execute(
            """
            INSERT INTO people (user_id, element_count, bytes) VALUES ($1, $2, $3)
            ON CONFLICT (user_id) DO UPDATE SET
                element_count = people.element_count + excluded.element_count,
                bytes = people.bytes + excluded.bytes
            WHERE people.element_count + excluded.element_count <= $4 AND people.bytes + excluded.bytes <= $5
            """, charge.userID, charge.elements, charge.bytes, charge.elements > 0 ? limit.elements : .max,
            charge.bytes > 0 ? limit.bytes : .max) == 1
    }

    /// Returns the summaries of those rooms that have a board, by room.
    func summaries(of roomIDs: [String], seenBy userID: String) throws -> [String: BoardSummary] {
        var boards: [String: BoardSummary] = [:]
        try connection.query(
            """
            SELECT boards.room_id, element_count, changed_at, coalesce(unseen.count, 0)
            FROM boards LEFT JOIN unseen ON unseen.room_id = boards.room_id AND unseen.user_id = $1
            WHERE boards.room_id IN (SELECT value FROM json_each($2))
            """, userID, SQLValue.list(roomIDs)
        ) { row in
            boards[row.text(0)] = BoardSummary(
                elementCount: row.int(1), unseenCount: row.int(3), changedAt: row.time(2))
        }
        return boards
    }

    // MARK: Elements

    func element(_ id: String, in roomID: String) throws -> Element? {
        try connection.first(
            "SELECT \(Self.elementColumns) FROM elements WHERE id = $1 AND room_id = $2", id, roomID,
            body: Self.element)
    }

    /// Returns the id of the element that a sender created with a key, even if it has been deleted since.
    func elementID(sentBy senderID: String, as tempID: String, in roomID: String) throws -> String? {
        try connection.first(
            "SELECT element_id FROM temp_ids WHERE room_id = $1 AND sender_id = $2 AND temp_id = $3", roomID,
            senderID, tempID
        ) { $0.text(0) }
    }

    /// Inserts an element. Its rank is the board's revision at its creation. So ranks follow the order of
    /// creation, regardless of instances and clocks.
    func insert(_ element: Element, at state: BoardState) throws {
        try connection.executeLater(
            """
            INSERT INTO elements (\(Self.elementColumns), rank)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
            """, element.id, element.roomID, element.type.text, element.content.json, element.position?.json,
            element.createdBy, element.createdAt.milliseconds, element.updatedBy, element.updatedAt.milliseconds,
            element.version, element.tempID, element.size, element.chargedTo, state.rev)
        guard let tempID = element.tempID else { return }
        try connection.executeLater(
            "INSERT INTO temp_ids (room_id, sender_id, temp_id, element_id) VALUES ($1, $2, $3, $4)", element.roomID,
            element.createdBy, tempID, element.id)
    }

    /// Writes the columns that an update may change.
    func replace(_ element: Element) throws {
        try connection.executeLater(
            """
            UPDATE elements SET content = $2, position = $3, updated_by = $4, updated_at = $5, version = $6, size = $7,
                charged_to = $8
            WHERE id = $1
            """, element.id, element.content.json, element.position?.json, element.updatedBy,
            element.updatedAt.milliseconds, element.version, element.size, element.chargedTo)
    }

    /// - Returns: the charge of the deleted element; nil if there was none.
    func delete(_ id: String, in roomID: String) throws -> Charge? {
        try connection.all(
            "DELETE FROM elements WHERE id = $1 AND room_id = $2 RETURNING charged_to, size", id, roomID,
            body: Self.deletion
        ).first
    }

    /// - Returns: the charge of each deleted element.
    func deleteAll(in roomID: String) throws -> [Charge] {
        try connection.all(
            "DELETE FROM elements WHERE room_id = $1 RETURNING charged_to, size", roomID, body: Self.deletion)
    }

    private static func deletion(_ row: Row) -> Charge {
        Charge(userID: row.text(0), elements: -1, bytes: -row.int(1))
    }

    /// The size limit of a page's elements: a reply has to fit a line of the bus.
    private static let maxPageBytes = 512 * 1024
    /// The number of rows that are read at a time. An engine may load all of them before the first is used, and each may
    /// have 64 KiB.
    private static let rowsInOneGo = 32

    /// Returns those of the ids whose elements still exist.
    func existing(_ ids: [String]) throws -> [String] {
        try connection.all(
            "SELECT id FROM elements WHERE id IN (SELECT value FROM json_each($1))", SQLValue.list(ids)
        ) { $0.text(0) }
    }

    /// Returns elements of all rooms in the order of their ids.
    func elements(after id: String, limit: Int) throws -> [Element] {
        try connection.all(
            "SELECT \(Self.elementColumns) FROM elements WHERE id > $1 ORDER BY id LIMIT $2", id, limit,
            body: Self.element)
    }

    /// Returns elements in the order of their creation, after a rank.
    func elements(of roomID: String, after rank: Int, limit: Int) throws -> ElementPage {
        var elements: [Element] = []
        var last = rank
        var bytes = 0
        while true {
            // One more than wanted, to see whether there are more.
            let wanted = min(limit + 1 - elements.count, Self.rowsInOneGo)
            var (found, hasMore) = (0, false)
            try connection.forEachRow(
                """
                SELECT \(Self.elementColumns), rank FROM elements
                WHERE room_id = $1 AND rank > $2 ORDER BY rank LIMIT $3
                """, binding: [.text(roomID), .int(last), .int(wanted)]
            ) { row in
                let element = Self.element(row)
                found += 1
                bytes += element.size
                guard elements.count < limit, bytes <= Self.maxPageBytes else {
                    hasMore = true
                    return false
                }
                elements.append(element)
                last = row.int(Self.elementColumnCount)
                return true
            }
            if hasMore { return ElementPage(elements: elements, next: last) }
            if found < wanted { return ElementPage(elements: elements, next: nil) }
        }
    }

    // MARK: Unseen elements

    /// The maximum number of `unseen_elements` rows for a person and room. The rows serve to recount `unseen`. Without
    /// a limit they could grow for ever. Opening the room waits until they are deleted.
    static let maxUnseenRows = 200

    /// Counts a new element for each of these people who does not have the room open. It also records the element for
    /// each of them who has fewer than `maxUnseenRows` unseen elements.
    func countUnseen(_ rank: Int, in roomID: String, by people: [String]) throws {
        let others = SQLValue.list(people)
        try connection.executeLater(
            """
            INSERT INTO unseen_elements (room_id, user_id, rank)
            SELECT $1, value, $3 FROM json_each($2)
            WHERE NOT EXISTS (SELECT 1 FROM open_rooms WHERE open_rooms.room_id = $1 AND open_rooms.user_id = value)
            AND NOT EXISTS (
                SELECT 1 FROM unseen WHERE unseen.room_id = $1 AND unseen.user_id = value AND unseen.count >= $4)
            """, roomID, others, rank, Self.maxUnseenRows)
        try connection.executeLater(
            """
            INSERT INTO unseen (room_id, user_id, count)
            SELECT $1, value, 1 FROM json_each($2)
            WHERE NOT EXISTS (SELECT 1 FROM open_rooms WHERE open_rooms.room_id = $1 AND open_rooms.user_id = value)
            ON CONFLICT (room_id, user_id) DO UPDATE SET count = unseen.count + 1
            """, roomID, others)
    }

    // MARK: People who leave

    /// Follows a change of a room's people: deletes what is stored about those who left, and with the last of them the board.
    func follow(_ change: PeopleChange) throws {
        for leaver in change.left {
            for table in ["unseen", "unseen_elements", "open_rooms"] {
                try connection.execute(
                    "DELETE FROM \(table) WHERE room_id = $1 AND user_id = $2", change.roomID, leaver.userID)
            }
        }
        guard change.isLast else { return }
        for charge in try deleteAll(in: change.roomID).byPerson {
            _ = try apply(charge, upTo: BoardLimits.Amount(elements: .max, bytes: .max))
        }
        for table in ["boards", "temp_ids"] {
            try connection.execute("DELETE FROM \(table) WHERE room_id = $1", change.roomID)
        }
    }

    // MARK: Columns

    private static let elementColumns = """
        id, room_id, type, content, position, created_by, created_at, updated_by, updated_at, version, temp_id, size,
        charged_to
        """
    private static let elementColumnCount = 13

    private static func element(_ row: Row) -> Element {
        Element(
            id: row.text(0), roomID: row.text(1), type: ElementType(stored: row.text(2)),
            content: ElementContent(stored: row.json(3)),
            position: row.jsonOrNil(4).map(ElementPosition.init(stored:)), createdBy: row.text(5),
            createdAt: row.time(6), updatedBy: row.text(7),
            updatedAt: row.time(8), version: row.int(9), tempID: row.textOrNil(10),
            size: row.int(11), chargedTo: row.text(12))
    }
}

struct ElementPage: Sendable {
    let elements: [Element]
    /// The rank for the next page; nil on the last page.
    let next: Int?
}

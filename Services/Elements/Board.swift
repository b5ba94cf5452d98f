import Contracts
import EventLog
import ServiceKit
import Storage

/// A room's elements, inside the transaction that changes them. It is valid in the closure that was given it alone.
struct Board {
    let request: RoomRequest
    let limits: BoardLimits
    let connection: any Connection

    var room: Membership { request.room }

    // MARK: The board

    /// Counts a change: every one of them does, and tells of the state that it gets here.
    ///
    /// - Parameter charges: what it adds and takes away, on whose account.
    /// - Throws: `payload_too_large` if that is more than the room or a person may have. What makes less of it always may.
    func advance(by charges: [Charge], at now: Timestamp) throws -> BoardState {
        let (elements, bytes) = (charges.elements, charges.bytes)
        let state = try connection.first(
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
            """, room.roomID, elements, now.milliseconds, bytes, elements > 0 ? limits.room.elements : .max,
            bytes > 0 ? limits.room.bytes : .max
        ) {
            BoardState(elementCount: $0.int(0), rev: $0.int(1), changedAt: Timestamp(milliseconds: $0.int(2)))
        }
        guard let state else { throw limits.roomIsFull }
        for charge in charges.byPerson { try apply(charge) }
        return state
    }

    private func apply(_ charge: Charge) throws {
        let rows = try connection.execute(
            """
            INSERT INTO people (user_id, element_count, bytes) VALUES ($1, $2, $3)
            ON CONFLICT (user_id) DO UPDATE SET
                element_count = people.element_count + excluded.element_count,
                bytes = people.bytes + excluded.bytes
            WHERE people.element_count + excluded.element_count <= $4 AND people.bytes + excluded.bytes <= $5
            """, charge.userID, charge.elements, charge.bytes,
            charge.elements > 0 ? limits.person.elements : .max, charge.bytes > 0 ? limits.person.bytes : .max)
        guard rows == 1 else { throw limits.personIsFull }
    }

    /// - Returns: the entry's position in the event log.
    func emit(_ emissions: [Emission], at state: BoardState) throws -> Int {
        try request.emit(emissions, at: state.changedAt, on: connection)
    }

    func lastEntry() throws -> Int { try EventLog.head(on: connection) }

    // MARK: Elements

    func element(_ id: String) throws -> Element? {
        try connection.first(
            "SELECT \(Self.elementColumns) FROM elements WHERE id = $1 AND room_id = $2", id, room.roomID,
            body: Self.element)
    }

    /// The element that its sender made under a key, be it deleted since.
    func elementID(sentBy senderID: String, as tempID: String) throws -> String? {
        try connection.first(
            "SELECT element_id FROM temp_ids WHERE room_id = $1 AND sender_id = $2 AND temp_id = $3", room.roomID,
            senderID, tempID
        ) { $0.text(0) }
    }

    /// Its rank is the revision it was created at: the order of creation, by whichever instance and clock.
    func insert(_ element: Element, at state: BoardState) throws {
        try connection.execute(
            """
            INSERT INTO elements (\(Self.elementColumns), rank)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
            """, element.id, element.roomID, element.type.text, element.content.json, element.position?.json,
            element.createdBy, element.createdAt.milliseconds, element.updatedBy, element.updatedAt.milliseconds,
            element.version, element.tempID, element.size, element.chargedTo, state.rev)
        guard let tempID = element.tempID else { return }
        try connection.execute(
            "INSERT INTO temp_ids (room_id, sender_id, temp_id, element_id) VALUES ($1, $2, $3, $4)", room.roomID,
            element.createdBy, tempID, element.id)
    }

    /// Writes what an update may change.
    func replace(_ element: Element) throws {
        try connection.execute(
            """
            UPDATE elements SET content = $2, position = $3, updated_by = $4, updated_at = $5, version = $6, size = $7,
                charged_to = $8
            WHERE id = $1
            """, element.id, element.content.json, element.position?.json, element.updatedBy,
            element.updatedAt.milliseconds, element.version, element.size, element.chargedTo)
    }

    /// - Returns: what is no longer there; nil if it was not there.
    func delete(_ id: String) throws -> Charge? {
        try connection.all(
            "DELETE FROM elements WHERE id = $1 AND room_id = $2 RETURNING charged_to, size", id, room.roomID,
            body: Self.deletion
        ).first
    }

    /// - Returns: one for each that there was.
    func deleteAll() throws -> [Charge] {
        try connection.all(
            "DELETE FROM elements WHERE room_id = $1 RETURNING charged_to, size", room.roomID, body: Self.deletion)
    }

    private static func deletion(_ row: Row) -> Charge {
        Charge(userID: row.text(0), elements: -1, bytes: -row.int(1))
    }

    /// Notes and counts a new element for everyone who has not made it and doesn't have the room open.
    func countUnseen(_ rank: Int, exceptFor creatorID: String) throws {
        let others = SQLValue.list(room.userIDs.filter { $0 != creatorID })
        try connection.execute(
            """
            INSERT INTO unseen_elements (room_id, user_id, rank)
            SELECT $1, value, $3 FROM json_each($2)
            WHERE NOT EXISTS (SELECT 1 FROM open_rooms WHERE open_rooms.room_id = $1 AND open_rooms.user_id = value)
            """, room.roomID, others, rank)
        try connection.execute(
            """
            INSERT INTO unseen (room_id, user_id, count)
            SELECT $1, value, 1 FROM json_each($2)
            WHERE NOT EXISTS (SELECT 1 FROM open_rooms WHERE open_rooms.room_id = $1 AND open_rooms.user_id = value)
            ON CONFLICT (room_id, user_id) DO UPDATE SET count = unseen.count + 1
            """, room.roomID, others)
    }

    // MARK: Columns

    static let elementColumns = """
        id, room_id, type, content, position, created_by, created_at, updated_by, updated_at, version, temp_id, size,
        charged_to
        """
    static let elementColumnCount = 13

    static func element(_ row: Row) -> Element {
        Element(
            id: row.text(0), roomID: row.text(1), type: ElementType(stored: row.text(2)),
            content: ElementContent(stored: row.json(3)),
            position: row.jsonOrNil(4).map(ElementPosition.init(stored:)), createdBy: row.text(5),
            createdAt: Timestamp(milliseconds: row.int(6)), updatedBy: row.text(7),
            updatedAt: Timestamp(milliseconds: row.int(8)), version: row.int(9), tempID: row.textOrNil(10),
            size: row.int(11), chargedTo: row.text(12))
    }
}

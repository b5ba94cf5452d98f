import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL of this service, in the transaction of a connection.
struct RoomsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    // MARK: Writes

    /// Adds a room with its participants.
    ///
    /// - Parameter key: its creator's idempotency key, if there is one.
    func insert(_ room: Room, key: String?) throws {
        try connection.executeLater(
            """
            INSERT INTO rooms (id, name, created_by, created_at, updated_at, kind, participant_count, last_listed)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """, room.id, room.name?.text, room.createdBy, room.createdAt.milliseconds, room.updatedAt.milliseconds,
            room.kind.rawValue, room.participants.count, min(room.participants.count, Room.listedPeople) - 1)
        for (position, participant) in room.participants.enumerated() {
            try connection.executeLater(
                "INSERT INTO participants (room_id, position, person_id, joined_at, role) VALUES ($1, $2, $3, $4, $5)",
                room.id, position, participant.userID, participant.joinedAt.milliseconds, participant.role.rawValue)
        }
        try countMade(by: room.createdBy, with: "")
        if let key {
            try connection.executeLater(
                "INSERT INTO creations (created_by, client_request_id, room_id) VALUES ($1, $2, $3)",
                room.createdBy, key, room.id)
        }
    }

    /// Updates people's names in all their rooms.
    ///
    /// - Returns: the ids of people whose name has changed.
    func updateNames(of people: [Person]) throws -> [String] {
        var renamed: [String] = []
        for person in people {
            let isSame = try connection.first(
                "SELECT username, first_name FROM people WHERE id = $1", person.id
            ) { row in
                // Compare bytes: for Swift two encodings of an accent are equal.
                row.text(0).utf8.elementsEqual(person.username.utf8)
                    && row.textOrNil(1).map { Array($0.utf8) } == person.firstName.map { Array($0.utf8) }
            }
            if isSame == true { continue }
            if isSame == false { renamed.append(person.id) }
            try connection.executeLater(
                """
                INSERT INTO people (id, username, first_name) VALUES ($1, $2, $3)
                ON CONFLICT (id) DO UPDATE SET username = excluded.username, first_name = excluded.first_name
                """, person.id, person.username, person.firstName)
        }
        return renamed
    }

    /// Counts a room that a person has made with another, or to which they have added them; under `""`, one made with
    /// anybody. These counts never fall, so that who leaves cannot be brought back for ever.
    func countMade(by creatorID: String, with otherID: String) throws {
        try connection.executeLater(
            """
            INSERT INTO rooms_made (creator_id, other_id, count) VALUES ($1, $2, 1)
            ON CONFLICT (creator_id, other_id) DO UPDATE SET count = rooms_made.count + 1
            """, creatorID, otherID)
    }

    func updateName(of room: Room) throws {
        try connection.executeLater(
            "UPDATE rooms SET name = $2, updated_at = $3 WHERE id = $1",
            room.id, room.name?.text, room.updatedAt.milliseconds)
    }

    /// The number of rooms that a person has created, with another person or, under `""`, with
    /// anybody.
    struct Made {
        let creatorID: String
        let otherID: String
        let kept: Int
        let counted: Int
    }

    func set(_ made: Made) throws {
        try connection.executeLater(
            """
            INSERT INTO rooms_made (creator_id, other_id, count) VALUES ($1, $2, $3)
            ON CONFLICT (creator_id, other_id) DO UPDATE SET count = excluded.count
            """, made.creatorID, made.otherID, made.counted)
    }

    // MARK: Reads

    /// Returns the stored counts of created rooms that are below those of the rows: they may be above them, as people leave,
    /// and as some are added later. It reads all rooms.
    func miscounted() throws -> [Made] {
        try connection.all(
            """
            SELECT creator_id, other_id, sum(kept), sum(counted) FROM (
                SELECT creator_id, other_id, count AS kept, 0 AS counted FROM rooms_made
                UNION ALL SELECT created_by, '', 0, count(*) FROM rooms GROUP BY created_by
                UNION ALL SELECT rooms.created_by, participants.person_id, 0, count(*)
                    FROM rooms JOIN participants ON participants.room_id = rooms.id
                    WHERE participants.person_id <> rooms.created_by AND rooms.kind = 'direct'
                    GROUP BY rooms.created_by, participants.person_id
            ) AS numbers
            GROUP BY creator_id, other_id HAVING sum(kept) < sum(counted) ORDER BY creator_id, other_id
            """
        ) { Made(creatorID: $0.text(0), otherID: $0.text(1), kept: $0.int(2), counted: $0.int(3)) }
    }

    /// Returns the ids of all rooms, in order.
    func roomIDs(after id: String, limit: Int) throws -> [String] {
        try connection.all("SELECT id FROM rooms WHERE id > $1 ORDER BY id LIMIT $2", id, limit) { $0.text(0) }
    }

    /// Returns rooms in the order of their ids.
    func rooms(after id: String, limit: Int) throws -> [Room] {
        // A room that its last participant is leaving is not shown.
        try rooms(
            """
            FROM rooms
            WHERE rooms.id > $1 AND EXISTS (SELECT 1 FROM participants WHERE room_id = rooms.id AND state = 'in')
            ORDER BY rooms.id LIMIT $2
            """, .text(id), .int(limit)
        ).reversed()
    }

    func made(
        by personID: String, with otherID: String
    ) throws -> RoomQuota.Made {
        var (all, withOther, byOther) = (0, 0, 0)
        try connection.query(
            """
            SELECT creator_id, other_id, count FROM rooms_made
            WHERE (creator_id = $1 AND other_id IN ('', $2)) OR (creator_id = $2 AND other_id = $1)
            """, personID, otherID
        ) { row in
            if row.text(0) == otherID {
                byOther = row.int(2)
            } else if row.text(1).isEmpty {
                all = row.int(2)
            } else {
                withOther = row.int(2)
            }
        }
        return RoomQuota.Made(all: all, withOther: withOther, byOther: byOther)
    }

    func room(_ id: String) throws -> Room? {
        try rooms("FROM rooms WHERE rooms.id = $1", .text(id)).first
    }

    /// Returns a room's record, which has those who are joining.
    func record(of id: String) throws -> Membership? {
        try rooms("FROM rooms WHERE rooms.id = $1", .text(id), state: "<> 'leaving'").first?.membership
    }

    /// Returns the version of a room's record; 0 if there is no such room.
    func version(of roomID: String) throws -> Int {
        try connection.first("SELECT version FROM rooms WHERE id = $1", roomID) { $0.int(0) } ?? 0
    }

    /// Makes the first participant of a room without an owner its owner.
    ///
    /// - Returns: that participant; nil if there is an owner.
    func appointHeir(in room: Room) throws -> String? {
        guard !room.participants.contains(where: { $0.role == .owner }), let first = room.participants.first else {
            return nil
        }
        try PendingChangesStore(connection).set(.owner, of: first.userID, in: room.id)
        return first.userID
    }

    func raiseVersion(of roomID: String, to version: Int) throws {
        try connection.execute("UPDATE rooms SET version = $2 WHERE id = $1 AND version < $2", roomID, version)
    }

    /// Returns the room that a creator made with an idempotency key; nil if there is none.
    ///
    /// - Throws: `room_not_found` if it is no longer the creator's.
    func room(madeBy creatorID: String, _ key: String) throws -> Room? {
        let made = try connection.first(
            "SELECT room_id FROM creations WHERE created_by = $1 AND client_request_id = $2", creatorID, key
        ) { $0.text(0) }
        guard let made else { return nil }
        guard let room = try room(made), room.membership.participant(creatorID) != nil else {
            throw ServiceError.roomNotFound
        }
        return room
    }

    /// Returns a person's rooms, the newest first, with the people that a list shows.
    ///
    /// - Parameters:
    ///   - kind: nil for rooms of both kinds.
    ///   - cursor: the id of the last room of the previous page.
    func rooms(
        of personID: String, _ kind: RoomKind?, before cursor: String?, limit: Int
    ) throws -> [Room] {
        let ofKind =
            kind.map { "AND EXISTS (SELECT 1 FROM rooms WHERE id = room_id AND kind = '\($0.rawValue)')" } ?? ""
        var found = try rooms(
            """
            FROM (
                SELECT room_id FROM participants
                WHERE person_id = $1 AND room_id < $2 AND state = 'in' \(ofKind)
                ORDER BY room_id DESC LIMIT $3
            ) AS mine JOIN rooms ON rooms.id = mine.room_id
            """, .text(personID), .text(cursor ?? Self.afterAllIDs), .int(limit), isList: true)
        let indices = found.indices.filter { index in
            !found[index].participants.contains { $0.userID == personID }
        }
        guard !indices.isEmpty else { return found }
        var own: [String: Participant] = [:]
        try connection.query(
            """
            SELECT person_id, people.username, people.first_name, joined_at, role, room_id
            FROM participants JOIN people ON people.id = participants.person_id
            WHERE person_id = $1 AND room_id IN (SELECT value FROM json_each($2))
            """, personID, SQLValue.list(indices.map { found[$0].id })
        ) { own[$0.text(5)] = Self.participant($0, from: 0) }
        for index in indices { found[index].participants += own[found[index].id].map { [$0] } ?? [] }
        return found
    }

    /// Returns the direct rooms of two people, the newest first.
    func rooms(
        sharedBy personID: String, _ otherID: String, before cursor: String?, limit: Int
    ) throws -> [Room] {
        try rooms(
            """
            FROM (
                SELECT mine.room_id FROM participants AS mine
                JOIN participants AS theirs ON theirs.person_id = $2 AND theirs.room_id = mine.room_id
                JOIN rooms ON rooms.id = mine.room_id AND rooms.kind = 'direct'
                WHERE mine.person_id = $1 AND mine.room_id < $3
                ORDER BY mine.room_id DESC LIMIT $4
            ) AS shared JOIN rooms ON rooms.id = shared.room_id
            """, .text(personID), .text(otherID), .text(cursor ?? Self.afterAllIDs), .int(limit))
    }

    /// Returns the ids of the rooms of two people, in order.
    ///
    /// - Parameter kind: nil for rooms of both kinds.
    func roomIDs(
        sharedBy personID: String, _ otherID: String, of kind: RoomKind? = .direct, after cursor: String?, limit: Int
    ) throws -> [String] {
        let ofKind = kind.map { "AND rooms.kind = '\($0.rawValue)'" } ?? ""
        return try connection.all(
            """
            SELECT mine.room_id FROM participants AS mine
            JOIN participants AS theirs
                ON theirs.person_id = $2 AND theirs.room_id = mine.room_id AND theirs.state = 'in'
            JOIN rooms ON rooms.id = mine.room_id \(ofKind)
            WHERE mine.person_id = $1 AND mine.room_id > $3 AND mine.state = 'in'
            ORDER BY mine.room_id LIMIT $4
            """, personID, otherID, cursor ?? "", limit
        ) { $0.text(0) }
    }

    /// Returns the ids of the people who share a room with a person, in order.
    ///
    /// - Parameter cursor: the last id of the previous page.
    func partners(
        of personID: String, after cursor: String?, limit: Int
    ) throws -> [String] {
        try connection.all(
            """
            SELECT DISTINCT theirs.person_id
            FROM participants AS mine
            JOIN participants AS theirs ON theirs.room_id = mine.room_id AND theirs.state = 'in'
            WHERE mine.person_id = $1 AND mine.state = 'in' AND theirs.person_id <> $1 AND theirs.person_id > $2
            ORDER BY theirs.person_id LIMIT $3
            """, personID, cursor ?? "", limit
        ) { $0.text(0) }
    }

    /// Returns those of some people who share a room with a person, in no order.
    func roommates(of personID: String, among userIDs: [String]) throws -> [String] {
        try connection.all(
            """
            SELECT value FROM json_each($2) WHERE EXISTS (
                SELECT 1 FROM participants AS mine
                JOIN participants AS theirs ON theirs.room_id = mine.room_id AND theirs.state = 'in'
                WHERE mine.person_id = $1 AND mine.state = 'in' AND theirs.person_id = value
            )
            """, personID, SQLValue.list(userIDs)
        ) { $0.text(0) }
    }

    /// Returns the ids of a person's rooms, in order.
    ///
    /// - Parameter cursor: the last id of the previous page.
    func roomIDs(
        of personID: String, after cursor: String?, limit: Int
    ) throws -> [String] {
        try connection.all(
            """
            SELECT room_id FROM participants
            WHERE person_id = $1 AND room_id > $2 AND state = 'in' ORDER BY room_id LIMIT $3
            """, personID, cursor ?? "", limit
        ) { $0.text(0) }
    }

    /// Returns the ids of the people in a room's record, in their order in the room.
    func members(of roomID: String) throws -> [String] {
        try connection.all(
            "SELECT person_id FROM participants WHERE room_id = $1 AND state <> 'leaving' ORDER BY position", roomID
        ) { $0.text(0) }
    }

    /// Returns a room's participants with their places, in order.
    func participants(
        of roomID: String, after place: Int, limit: Int
    ) throws -> [(place: Int, participant: Participant)] {
        try connection.all(
            """
            SELECT person_id, people.username, people.first_name, joined_at, role, position
            FROM participants JOIN people ON people.id = participants.person_id
            WHERE room_id = $1 AND position > $2 AND state = 'in' ORDER BY position LIMIT $3
            """, roomID, place, limit
        ) { ($0.int(5), Self.participant($0, from: 0)) }
    }

    private static func participant(_ row: Row, from column: Int) -> Participant {
        Participant(
            userID: row.text(column), username: row.text(column + 1), firstName: row.textOrNil(column + 2),
            joinedAt: row.time(column + 3), role: RoomRole(rawValue: row.text(column + 4)) ?? .member)
    }

    /// Returns names by room, without direct rooms that have none. A group without a name is called by its people.
    func names(of roomIDs: [String]) throws -> [String: String] {
        var names: [String: String] = [:]
        try connection.query(
            "SELECT id, name FROM rooms WHERE id IN (SELECT value FROM json_each($1)) AND name IS NOT NULL",
            SQLValue.list(roomIDs)
        ) { names[$0.text(0)] = $0.text(1) }
        let unnamed = try rooms(
            """
            FROM rooms WHERE rooms.kind = 'group' AND rooms.name IS NULL
                AND rooms.id IN (SELECT value FROM json_each($1))
            """, .list(roomIDs), isList: true)
        for room in unnamed { names[room.id] = room.displayName }
        return names
    }

    /// Returns true if a person was ever in a room.
    func isKnown(_ personID: String) throws -> Bool {
        try connection.exists("SELECT 1 FROM people WHERE id = $1", personID)
    }

    /// A text that sorts after every id: those have lower-case hexadecimal digits.
    private static let afterAllIDs = "~"

    /// Returns rooms with their participants, the newest first: a row for each participant, never a query for
    /// each room.
    ///
    /// - Parameters:
    ///   - source: the selection of rooms, from `FROM` on; one of a few constants.
    ///   - state: the condition for the state of its participants.
    ///   - isList: true for only the first participants of a group, as many as a list shows.
    private func rooms(
        _ source: String, _ parameters: SQLValue..., state: String = "= 'in'", isList: Bool = false
    ) throws -> [Room] {
        var found: [Room] = []
        try connection.forEachRow(
            """
            SELECT room.id, room.name, room.created_by, room.created_at, room.updated_at, room.version, room.kind,
                room.is_closed, participants.person_id, people.username, people.first_name, participants.joined_at,
                participants.role, room.participant_count
            FROM (SELECT rooms.* \(source)) AS room
            JOIN participants ON participants.room_id = room.id AND participants.state \(state)
                \(isList ? "AND participants.position <= room.last_listed" : "")
            JOIN people ON people.id = participants.person_id
            ORDER BY room.id DESC, participants.position
            """, binding: parameters
        ) { row in
            let roomID = row.text(0)
            if found.last?.id != roomID {
                found.append(
                    Room(
                        id: roomID, name: row.textOrNil(1).flatMap(RoomName.init(stored:)), createdBy: row.text(2),
                        createdAt: row.time(3), updatedAt: row.time(4), version: row.int(5),
                        kind: RoomKind(rawValue: row.text(6)) ?? .direct, isClosed: row.int(7) != 0,
                        participants: [], countOfAll: isList ? row.int(13) : nil))
            }
            found[found.count - 1].participants.append(Self.participant(row, from: 8))
            return true
        }
        return found
    }
}

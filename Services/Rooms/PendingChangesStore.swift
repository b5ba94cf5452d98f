import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

/// The SQL of pending changes, of the people in them, and of keepers with what they have missed, in the
/// transaction of a connection.
struct PendingChangesStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    func pending(in roomID: String) throws -> PendingChange? {
        try connection.first(
            "SELECT \(Self.columns) FROM pending_changes WHERE room_id = $1", roomID, body: Self.change)
    }

    private static let columns = "room_id, version, acts, stored_after"

    private static func change(_ row: Row) -> PendingChange {
        PendingChange(
            roomID: row.text(0), version: row.int(1), actsJSON: row.json(2), storedAfter: row.intOrNil(3))
    }

    /// Returns the rooms with a pending change.
    func roomIDs() throws -> [String] {
        try connection.all("SELECT room_id FROM pending_changes ORDER BY room_id") { $0.text(0) }
    }

    /// Returns the changes after that of a room, in the order of rooms.
    func pending(after roomID: String, limit: Int) throws -> [PendingChange] {
        try connection.all(
            "SELECT \(Self.columns) FROM pending_changes WHERE room_id > $1 ORDER BY room_id LIMIT $2", roomID, limit,
            body: Self.change)
    }

    /// Returns true if a room has a pending change, or one that the keeper has missed.
    func isChanging(_ roomID: String, for keeper: String) throws -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM pending_changes WHERE room_id = $1
            UNION ALL SELECT 1 FROM missed_changes WHERE room_id = $1 AND keeper = $2
            """, roomID, keeper)
    }

    /// Stores a change, and raises the version of the room's record to the change's.
    func put(_ change: PendingChange) throws {
        try connection.execute(
            """
            INSERT INTO pending_changes (room_id, version, acts, stored_after) VALUES ($1, $2, $3, $4)
            ON CONFLICT (room_id) DO UPDATE SET
                version = excluded.version, acts = excluded.acts, stored_after = excluded.stored_after
            """, change.roomID, change.version, change.actsJSON, try EventLog.head(on: connection))
        try connection.execute("UPDATE rooms SET version = $2 WHERE id = $1", change.roomID, change.version)
        try countPeople(of: change.roomID)
    }

    /// Raises the version of a pending change above a keeper's fence, unless another change has joined it.
    func raise(_ change: PendingChange, above fence: Int) throws {
        guard change.version <= fence, try pending(in: change.roomID)?.version == change.version else { return }
        var change = change
        change.version = fence + 1
        try put(change)
    }

    func remove(_ change: PendingChange) throws {
        try connection.execute("DELETE FROM pending_changes WHERE room_id = $1", change.roomID)
    }

    // MARK: People

    /// Adds people to a room, after those who are there, as joining.
    func add(_ people: [Person], to roomID: String, at now: Timestamp) throws {
        var position =
            try connection.first(
                "SELECT coalesce(max(position), -1) FROM participants WHERE room_id = $1", roomID
            ) { $0.int(0) } ?? -1
        for person in people {
            position += 1
            try connection.execute(
                """
                INSERT INTO participants (room_id, position, person_id, joined_at, role, state)
                VALUES ($1, $2, $3, $4, 'member', 'joining')
                """, roomID, position, person.id, now.milliseconds)
        }
    }

    func set(_ state: ParticipantState, of userIDs: [String], in roomID: String) throws {
        try connection.execute(
            """
            UPDATE participants SET state = $2
            WHERE room_id = $1 AND person_id IN (SELECT value FROM json_each($3))
            """, roomID, state.rawValue, SQLValue.list(userIDs))
    }

    func set(_ role: RoomRole, of userID: String, in roomID: String) throws {
        try connection.execute(
            "UPDATE participants SET role = $3 WHERE room_id = $1 AND person_id = $2", roomID, userID, role.rawValue)
    }

    /// Makes joining people participants, and deletes those who are leaving.
    func settlePeople(of roomID: String) throws {
        try connection.execute("DELETE FROM participants WHERE room_id = $1 AND state = 'leaving'", roomID)
        try connection.execute("UPDATE participants SET state = 'in' WHERE room_id = $1 AND state = 'joining'", roomID)
        try countPeople(of: roomID)
    }

    private static let counted = "(SELECT count(*) FROM participants WHERE room_id = rooms.id AND state = 'in')"

    /// Stores the number of a room's participants, and the position of the last one that lists show.
    func countPeople(of roomID: String) throws {
        try connection.execute(
            """
            UPDATE rooms SET participant_count = \(Self.counted), last_listed = coalesce((
                SELECT position FROM participants WHERE room_id = rooms.id AND state = 'in'
                ORDER BY position LIMIT 1 OFFSET \(Room.listedPeople - 1)), \(Int32.max))
            WHERE id = $1
            """, roomID)
    }

    /// Returns the stored number of a room's participants, and the right one; nil if there is no such room.
    func peopleCounts(of roomID: String) throws -> (kept: Int, counted: Int)? {
        try connection.first("SELECT participant_count, \(Self.counted) FROM rooms WHERE id = $1", roomID) {
            ($0.int(0), $0.int(1))
        }
    }

    /// Returns the number of people that a person has brought into groups, and the time of the first of these.
    func additions(by adderID: String, since time: Timestamp) throws -> (count: Int, first: Timestamp?) {
        try connection.first(
            "SELECT coalesce(sum(count), 0), min(at) FROM additions WHERE adder_id = $1 AND at > $2", adderID,
            time.milliseconds
        ) { ($0.int(0), $0.intOrNil(1).map(Timestamp.init(milliseconds:))) } ?? (0, nil)
    }

    /// - Parameter time: earlier additions are deleted.
    func addAddition(of count: Int, by adderID: String, at now: Timestamp, forgetting time: Timestamp) throws {
        try connection.executeLater(
            "DELETE FROM additions WHERE adder_id = $1 AND at <= $2", adderID, time.milliseconds)
        try connection.executeLater(
            "INSERT INTO additions (adder_id, at, count) VALUES ($1, $2, $3)", adderID, now.milliseconds, count)
    }

    func deleteRoom(_ roomID: String) throws {
        try connection.execute("DELETE FROM rooms WHERE id = $1", roomID)
    }

    // MARK: Keepers

    /// Returns the names of the services that may keep records.
    func keepers() throws -> [String] {
        try connection.all("SELECT name FROM keepers ORDER BY name") { $0.text(0) }
    }

    func addKeeper(_ name: String) throws {
        try connection.execute("INSERT INTO keepers (name) VALUES ($1) ON CONFLICT DO NOTHING", name)
    }

    func removeKeeper(_ name: String) throws {
        try connection.execute("DELETE FROM keepers WHERE name = $1", name)
        try connection.execute("DELETE FROM missed_changes WHERE keeper = $1", name)
    }

    // MARK: Changes that keepers have missed

    /// Notes which keepers have missed a change. The others have confirmed it, and what they had missed in the room before:
    /// that is deleted.
    func settleMissed(_ change: PeopleChange, by keepers: [String]) throws {
        let keepers = SQLValue.list(keepers)
        try connection.execute(
            "DELETE FROM missed_changes WHERE room_id = $1 AND keeper NOT IN (SELECT value FROM json_each($2))",
            change.roomID, keepers)
        // One that was forgotten meanwhile has missed nothing.
        try connection.execute(
            """
            INSERT INTO missed_changes (keeper, room_id, version, change)
            SELECT name, $1, $2, $3 FROM keepers WHERE name IN (SELECT value FROM json_each($4))
            """, change.roomID, change.version, change.json, keepers)
    }

    func keepersWithMissed() throws -> [String] {
        try connection.all("SELECT DISTINCT keeper FROM missed_changes ORDER BY keeper") { $0.text(0) }
    }

    /// Returns what a keeper has missed in a room, in order.
    func missed(by keeper: String, in roomID: String) throws -> [PeopleChange] {
        try connection.all(
            "SELECT change FROM missed_changes WHERE keeper = $1 AND room_id = $2 ORDER BY version", keeper, roomID
        ) { PeopleChange($0.json(0)) }.compactMap(\.self)
    }

    /// Returns the rooms after another one in which a keeper has missed changes, in order.
    func roomsMissed(by keeper: String, after roomID: String, limit: Int) throws -> [String] {
        try connection.all(
            """
            SELECT DISTINCT room_id FROM missed_changes WHERE keeper = $1 AND room_id > $2 ORDER BY room_id LIMIT $3
            """, keeper, roomID, limit
        ) { $0.text(0) }
    }

    func removeMissed(_ change: PeopleChange, by keeper: String) throws {
        try connection.execute(
            "DELETE FROM missed_changes WHERE keeper = $1 AND room_id = $2 AND version = $3", keeper, change.roomID,
            change.version)
    }
}

/// Whether a person is in a room for services, and for people: services see who comes first, and who goes last.
enum ParticipantState: String, Sendable {
    case `in`, joining, leaving
}

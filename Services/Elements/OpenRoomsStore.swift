import ParlorContracts
import ParlorEventLog
import ParlorStorage

/// The SQL of open rooms by person and gateway, in the transaction of a connection. They are stored in this
/// service, as creating an element reads them in its own transaction.
struct OpenRoomsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// Records open rooms, and marks their elements as seen by those who opened them.
    ///
    /// - Returns: the number of the last entry that was appended; nil if no one had unseen elements.
    func open(_ rooms: [OpenRoom], on gateway: String, at clock: any WallClock) throws -> Int? {
        var lastEntry: Int?
        for room in rooms {
            try connection.executeLater(
                "INSERT INTO open_rooms (room_id, user_id, gateway) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                room.roomID, room.userID, gateway)
            let seen = try connection.execute(
                "DELETE FROM unseen WHERE room_id = $1 AND user_id = $2", room.roomID, room.userID)
            guard seen > 0 else { continue }
            try connection.executeLater(
                "DELETE FROM unseen_elements WHERE room_id = $1 AND user_id = $2", room.roomID, room.userID)
            lastEntry = try EventLog.append(
                at: clock.now(), roomID: room.roomID, participants: [room.userID],
                emissions: ElementEvents.seen(room.roomID, by: room.userID), on: connection)
        }
        return lastEntry
    }

    func close(_ rooms: [OpenRoom], on gateway: String) throws {
        for room in rooms {
            try connection.executeLater(
                "DELETE FROM open_rooms WHERE room_id = $1 AND user_id = $2 AND gateway = $3", room.roomID,
                room.userID, gateway)
        }
    }

    /// Closes all rooms that a gateway has open.
    ///
    /// - Returns: the number of rooms that it had open; a room counts once for each person.
    func closeAll(on gateway: String) throws -> Int {
        try connection.execute("DELETE FROM open_rooms WHERE gateway = $1", gateway)
    }

    /// Returns the gateways that have rooms open.
    func gateways() throws -> [String] {
        try connection.all("SELECT DISTINCT gateway FROM open_rooms") { $0.text(0) }
    }
}

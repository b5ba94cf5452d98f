import ParlorContracts
import ParlorStorage

/// The SQL of a service's fences, in the transaction of a connection. A room's fence is the lowest version of its record
/// that the service may use (docs/membership.md).
struct RoomFences {
    private let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    private static let find = "SELECT version FROM room_fences WHERE room_id = $1"

    /// Returns a room's fence: 0 if its record was never changed.
    func fence(of roomID: String) throws -> Int { try connection.first(Self.find, roomID) { $0.int(0) } ?? 0 }

    /// Raises a room's fence. A lower one changes nothing.
    ///
    /// It belongs in a transaction of the room's log, so that no write in the room commits at the same time.
    func raise(_ roomID: String, to version: Int) throws {
        // The next write of the batch loads the fence again.
        try connection.writePending()
        try connection.execute(
            """
            INSERT INTO room_fences (room_id, version) VALUES ($1, $2)
            ON CONFLICT (room_id) DO UPDATE SET version = excluded.version
            WHERE room_fences.version < excluded.version
            """, roomID, version)
    }
}

/// What a service does with its own rows when a room's people change, in the transaction that raises the fence. No entry of a
/// log belongs to it: Rooms emits the events.
public typealias PeopleChangeHandler = @Sendable (PeopleChange, any Connection) throws -> Void

/// Pending changes that load the fences of rooms (`room_fences`) with what else they load, which saves a statement for each
/// write.
public protocol LoadsFences: PendingChanges {
    /// Returns the fence of a room; nil if no write of the batch has a key for it.
    func fence(of roomID: String) -> Int?
}

/// Returns the lowest version of a room's record that may be used: that of `RoomFences`, or for the owner of records the
/// version itself.
typealias RoomFence = @Sendable (_ roomID: String, _ connection: any Connection) throws -> Int

extension RoomFences {
    static let fence: RoomFence = { roomID, connection in
        let loaded = (connection.pendingChanges as? any LoadsFences)?.fence(of: roomID)
        return try loaded ?? RoomFences(connection).fence(of: roomID)
    }
}

/// The record that a request has is older than its room's fence. Its host calls the handler again.
struct StaleMembership: Error {
    let fence: Int
}

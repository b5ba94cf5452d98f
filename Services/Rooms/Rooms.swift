import Contracts
import Security
import ServiceKit
import Storage

/// Rooms, who is in them, and their names. Each use case is an extension in a file of its own.
struct Rooms: Sendable {
    let database: any Database
    let people: PeopleDirectory
    let answers: AnswerDirectory
    let quota: RoomQuota
    let clock: any WallClock
    let ids: UUIDv7Generator

    /// - Throws: `room_not_found`.
    static func room(_ id: String, on connection: any Connection) throws -> Room {
        guard id.mayBeID, let room = try RoomsDatabase.room(id, on: connection) else {
            throw ServiceError.roomNotFound
        }
        return room
    }

    static func position(_ seq: Int) -> StreamPosition { StreamPosition(stream: RoomsService.name, seq: seq) }
}

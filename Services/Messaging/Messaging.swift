import Contracts
import MessageBus
import Security
import ServiceKit
import Storage

/// What the use cases work with; each has a file of its own.
struct Messaging: Sendable {
    let database: any Database
    let bus: any MessageBus
    let clock: any WallClock
    let ids: UUIDv7Generator

    /// Messages in a page when the caller doesn't say, and at most.
    static let standardPage = 50
    static let maxPage = 200

    /// Writes down what is to be told of a change in a room, in the change's own transaction.
    static func tell(
        _ emissions: [Emission], in room: Membership, at time: Timestamp, on connection: any Connection
    ) throws -> StreamPosition {
        let seq = try EventLog.append(
            at: time.milliseconds, roomID: room.roomID, participants: room.userIDs, emissions: emissions.json,
            on: connection)
        return StreamPosition(stream: MessagingService.name, seq: seq)
    }
}

import ServiceKit
import Storage

/// What is kept beside the rooms: how many a person has made, in all and with each other person.
extension RoomsService: Recounted {
    public static func rooms(after id: String, limit: Int, on connection: any Connection) throws -> [String] {
        try RoomsDatabase.roomIDs(after: id, limit: limit, on: connection)
    }

    /// None: a room keeps nothing that its rows would give.
    public static func differences(
        in roomID: String, members: [String], on connection: any Connection
    ) throws -> [Difference] { [] }

    public static func differencesOfPeople(on connection: any Connection) throws -> [Difference] {
        try RoomsDatabase.miscounted(on: connection).map { made in
            let partner = made.otherID.isEmpty ? "" : " with \(made.otherID)"
            return Difference("rooms that \(made.creatorID) made\(partner)", kept: made.kept, counted: made.counted) {
                try RoomsDatabase.set(made, on: $0)
            }
        }
    }
}

import ParlorServiceKit
import ParlorStorage

/// Verifies the stored numbers of rooms that a person has created, in total and with each other person.
extension RoomsService: Verifiable {
    public static func rooms(after id: String, limit: Int, on connection: any Connection) throws -> [String] {
        try RoomsStore(connection).roomIDs(after: id, limit: limit)
    }

    /// Returns none: a room has no numbers that could be counted from its rows.
    public static func differences(
        in roomID: String, members: [String], on connection: any Connection
    ) throws -> [Discrepancy] { [] }

    public static func differencesOfPeople(on connection: any Connection) throws -> [Discrepancy] {
        try RoomsStore(connection).miscounted().map { made in
            let partner = made.otherID.isEmpty ? "" : " with \(made.otherID)"
            return Discrepancy("rooms that \(made.creatorID) made\(partner)", kept: made.kept, counted: made.counted) {
                try RoomsStore($0).set(made)
            }
        }
    }
}

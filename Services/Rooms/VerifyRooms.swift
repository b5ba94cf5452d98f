import ParlorServiceKit
import ParlorStorage

/// Verifies the stored numbers of a room's participants, and of rooms that a person has created, in total and with each
/// other person.
extension RoomsService: Verifiable {
    public static func rooms(after id: String, limit: Int, on connection: any Connection) throws -> [String] {
        try RoomsStore(connection).roomIDs(after: id, limit: limit)
    }

    public static func differences(
        in roomID: String, members: [String], on connection: any Connection
    ) throws -> [Discrepancy] {
        guard let counts = try PendingChangesStore(connection).peopleCounts(of: roomID), counts.kept != counts.counted
        else { return [] }
        return [
            Discrepancy("participants", kept: counts.kept, counted: counts.counted) {
                try PendingChangesStore($0).countPeople(of: roomID)
            }
        ]
    }

    public static func differencesOfPeople(on connection: any Connection) throws -> [Discrepancy] {
        try RoomsStore(connection).miscounted().map { made in
            let partner = made.otherID.isEmpty ? "" : " with \(made.otherID)"
            return Discrepancy("rooms that \(made.creatorID) made\(partner)", kept: made.kept, counted: made.counted) {
                try RoomsStore($0).set(made)
            }
        }
    }
}

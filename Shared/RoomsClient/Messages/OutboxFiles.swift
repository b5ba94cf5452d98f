import Foundation

/// An outbox file that this version cannot read. Nothing of it is lost: it stands aside, for support or a newer version.
public struct OutboxTrouble: Equatable, Sendable {
    public var roomID: String
    /// Where the file is now.
    public var keptAt: URL
    public var reason: String
}

/// The unsent messages, on disk.
struct OutboxFiles: Sendable {
    private static let format = 1

    let files: RoomFiles
    let isForced: Bool

    private struct Contents: Codable {
        var format: Int
        var roomID: String
        var messages: [PendingMessage]
    }

    /// Everything that is kept; what cannot be read is put aside, and told.
    func readAll() throws -> (rooms: [String: [PendingMessage]], troubles: [OutboxTrouble]) {
        var rooms: [String: [PendingMessage]] = [:]
        var troubles: [OutboxTrouble] = []
        for roomID in try files.roomIDs() {
            do {
                guard let data = try files.read(roomID) else { continue }
                let contents = try JSONDecoder().decode(Contents.self, from: data)
                guard contents.format == Self.format else {
                    throw SendFailure(code: "foreign_format", message: "format \(contents.format)")
                }
                rooms[roomID] = contents.messages
            } catch {
                let kept = try files.setAside(roomID)
                troubles.append(OutboxTrouble(roomID: roomID, keptAt: kept, reason: String(describing: error)))
            }
        }
        return (rooms, troubles)
    }

    func write(_ messages: [PendingMessage], of roomID: String) throws {
        if messages.isEmpty {
            try files.remove(roomID)
        } else {
            let contents = Contents(format: Self.format, roomID: roomID, messages: messages)
            try files.write(JSONEncoder().encode(contents), of: roomID, isForced: isForced)
        }
    }
}

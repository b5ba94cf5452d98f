import Foundation

/// An outbox file that this version cannot read. Nothing of it is lost: it stands aside, for support or a newer version.
public struct OutboxFailure: Equatable, Sendable {
    public var roomID: String
    /// The file's present location.
    public var keptAt: URL
    public var reason: String
}

/// The unsent messages, on disk: each in a file of its own, so that a thousand of them cost a new one no more than none.
struct OutboxFiles: Sendable {
    private static let format = 2
    /// One can count on from each of them.
    private static let numbers = 0...(1 << 53)

    let files: RoomFiles
    let isForced: Bool

    private struct Contents: Codable {
        var format: Int
        var roomID: String
        var number: Int
        var message: PendingMessage
    }

    /// Everything that is kept, in the order typed; what is broken or foreign is put aside, and told at once: what comes after it
    /// may throw.
    ///
    /// - Throws: what the file system says. A file that cannot be read now is no broken one, and stays.
    func readAll(reporting report: (OutboxFailure) -> Void) throws -> [String: [OutboxEntry]] {
        var rooms: [String: [OutboxEntry]] = [:]
        for key in try files.keys() {
            guard let data = try files.read(key) else { continue }
            do {
                let contents = try JSONDecoder().decode(Contents.self, from: data)
                guard contents.format == Self.format, Self.numbers.contains(contents.number) else {
                    throw SendFailure(
                        code: "foreign_format", message: "format \(contents.format), number \(contents.number)")
                }
                rooms[contents.roomID, default: []].append(
                    OutboxEntry(message: contents.message, number: contents.number, isKept: true))
            } catch {
                let kept = try files.setAside(key)
                let roomID = key.lastIndex(of: "/").map { String(key[..<$0]) } ?? key
                report(OutboxFailure(roomID: roomID, keptAt: kept, reason: String(describing: error)))
            }
        }
        return rooms.mapValues { $0.sorted { $0.number < $1.number } }
    }

    func write(_ entry: OutboxEntry, of roomID: String) throws {
        let contents = Contents(format: Self.format, roomID: roomID, number: entry.number, message: entry.message)
        try files.write(JSONEncoder().encode(contents), of: Self.key(entry, roomID), isForced: isForced)
    }

    func remove(_ entry: OutboxEntry, of roomID: String) throws { try files.remove(Self.key(entry, roomID)) }

    private static func key(_ entry: OutboxEntry, _ roomID: String) -> String { "\(roomID)/\(entry.number)" }
}

/// A message, and its place on the disk.
struct OutboxEntry: Sendable {
    var message: PendingMessage
    /// Rises in the order typed.
    var number: Int
    /// It has a file.
    var isKept: Bool
}

import Foundation

/// A file of the outbox that this version cannot read. It is set aside, for support or a newer version.
package struct OutboxFailure: Equatable, Sendable {
    package var roomID: String
    /// The location to which the file was moved.
    package var keptAt: URL
    package var reason: String
}

/// The messages on disk that are not sent yet. Each has a file of its own, so the cost of storing one does not depend
/// on their number.
struct OutboxFiles: Sendable {
    private static let format = 2
    /// The valid numbers. Their maximum is low enough that later messages cannot overflow an `Int`.
    private static let numbers = 0...(1 << 53)

    let files: RoomFiles
    let isForced: Bool

    private struct Contents: Codable {
        var format: Int
        var roomID: String
        var number: Int
        var message: PendingMessage
        var retriedAt: Date?
    }

    /// Returns all stored messages by room, in the order typed. Files that are broken or of another format are set
    /// aside, and reported at once, because a later file may throw.
    ///
    /// - Throws: the file system's error; the refusal `not_forgotten`. A file that cannot be read now does not count as
    ///   broken, and stays.
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
                    OutboxEntry(
                        message: contents.message, number: contents.number, isKept: true,
                        retriedAt: contents.retriedAt))
            } catch {
                let kept = try files.setAside(key)
                let roomID = key.lastIndex(of: "/").map { String(key[..<$0]) } ?? key
                report(OutboxFailure(roomID: roomID, keptAt: kept, reason: String(describing: error)))
            }
        }
        return rooms.mapValues { $0.sorted { $0.number < $1.number } }
    }

    func write(_ entry: OutboxEntry, of roomID: String) throws {
        let contents = Contents(
            format: Self.format, roomID: roomID, number: entry.number, message: entry.message,
            retriedAt: entry.retriedAt)
        try files.write(JSONEncoder().encode(contents), of: Self.key(entry, roomID), isForced: isForced)
    }

    func remove(_ entry: OutboxEntry, of roomID: String) throws { try files.remove(Self.key(entry, roomID)) }

    private static func key(_ entry: OutboxEntry, _ roomID: String) -> String { "\(roomID)/\(entry.number)" }
}

/// A message of the outbox.
struct OutboxEntry: Sendable {
    var message: PendingMessage
    /// The number in the file's name, which rises in the order typed.
    var number: Int
    /// True if it has a file.
    var isKept: Bool
    /// The last time that the person retried it.
    var retriedAt: Date?
}

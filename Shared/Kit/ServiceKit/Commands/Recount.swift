import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorStorage

/// Recounts a service's stored numbers: those of each room, then those of people over all rooms.
struct Recount {
    let service: any Verifiable.Type
    let database: any MaintenanceDatabase
    let members: (String) throws -> [String]
    let clock: any WallClock
    let print: (String) -> Void

    struct Outcome: Equatable {
        var rooms = 0
        var differences = 0
        /// The differences that remain. Without a repair, all of them remain.
        var left = 0
    }

    /// The rooms that are counted in one snapshot. Their numbers do not depend on other rooms. A long
    /// snapshot keeps a running program from checkpointing its write-ahead log, and the log grows.
    private static let roomsInSnapshot = 200

    func run(repairing: Bool) throws -> Outcome {
        var outcome = Outcome()
        var last = ""
        while true {
            let page = try database.read { connection in
                try service.rooms(after: last, limit: Self.roomsInSnapshot, on: connection).map { room in
                    // Read the members after the snapshot has begun, so that every counted person is among them.
                    let members = try members(room)
                    let found = try service.differences(in: room, members: members, on: connection)
                    return (room: room, members: members, texts: found.map(\.text))
                }
            }
            guard let end = page.last?.room else { break }
            last = end
            outcome.rooms += page.count
            for (room, members, texts) in page {
                try settle(texts, in: room, members, repairing: repairing, &outcome) {
                    try service.differences(in: room, members: members, on: $0)
                }
            }
        }
        let texts = try database.read { try service.differencesOfPeople(on: $0).map(\.text) }
        try settle(texts, repairing: repairing, &outcome) { try service.differencesOfPeople(on: $0) }
        return outcome
    }

    /// Reports differences, or repairs them: recounts within a write transaction, so that no other writer interferes.
    ///
    /// - Parameters:
    ///   - texts: the differences that were found in a snapshot.
    ///   - room: nil for those of people.
    private func settle(
        _ texts: [String], in room: String? = nil, _ members: [String] = [], repairing: Bool,
        _ outcome: inout Outcome, _ differences: (any Connection) throws -> [Discrepancy]
    ) throws {
        guard !texts.isEmpty else { return }
        outcome.differences += texts.count
        guard repairing else {
            outcome.left += texts.count
            for text in texts { report(text, room) }
            return
        }
        let log = LogLayout(numbers: try database.logs())?.number(ofRoom: room ?? "") ?? 0
        let (found, left) = try database.write(in: log) { connection in
            let found = try differences(connection)
            for difference in found { try difference.repair?(connection) }
            if let room, found.contains(where: { $0.repair != nil }) {
                // The entry has no event for clients. It makes caches of the service's replies stale.
                try EventLog.append(
                    at: clock.now(), roomID: room, participants: members, emissions: [], on: connection)
            }
            return (found, try differences(connection).map(\.text))
        }
        for difference in found { report(difference, room, left: left) }
        outcome.left += left.count
    }

    private func report(_ difference: Discrepancy, _ room: String?, left: [String]) {
        report("\(difference.text); \(left.contains(difference.text) ? "cannot be repaired" : "repaired")", room)
    }

    private func report(_ text: String, _ room: String?) {
        print("\(service.name): \(room.map { "room \($0): " } ?? "")\(text)")
    }
}

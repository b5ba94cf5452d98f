import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorStorage

/// Recounts a service's stored numbers: those of each room, then those of people over all rooms.
struct Recount {
    let service: any Verifiable.Type
    let database: any MaintenanceDatabase
    let people: (String) throws -> RoomPeople
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
                    (room: room, differs: try !differences(in: room, try people(room), on: connection).isEmpty)
                }
            }
            guard let end = page.last?.room else { break }
            last = end
            outcome.rooms += page.count
            for (room, differs) in page where differs {
                // Counted again: in the snapshot, a room's people may have changed just before they were read.
                let before = try people(room)
                let texts = try database.read { connection in
                    let found = try differences(in: room, before, on: connection).map(\.text)
                    return try people(room) == before ? found : []
                }
                try settle(texts, in: room, repairing: repairing, &outcome) {
                    // This transaction holds the room's log, so the service does not take part in a change meanwhile.
                    try differences(in: room, try people(room), on: $0)
                }
            }
        }
        let texts = try database.read { try service.differencesOfPeople(on: $0).map(\.text) }
        try settle(texts, repairing: repairing, &outcome) { try service.differencesOfPeople(on: $0) }
        return outcome
    }

    /// Returns the differences of a room; none while a change of its people is pending.
    private func differences(
        in room: String, _ people: RoomPeople, on connection: any Connection
    ) throws -> [Discrepancy] {
        people.isChanging ? [] : try service.differences(in: room, members: people.userIDs, on: connection)
    }

    /// Reports differences, or repairs them: recounts within a write transaction, so that no other writer interferes.
    ///
    /// - Parameters:
    ///   - texts: the differences that were found in a snapshot.
    ///   - room: nil for those of people.
    private func settle(
        _ texts: [String], in room: String? = nil, repairing: Bool, _ outcome: inout Outcome,
        _ differences: (any Connection) throws -> [Discrepancy]
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
                    at: clock.now(), roomID: room, participants: try people(room).userIDs, emissions: [],
                    on: connection)
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

import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// Verifies the stored values that can be recomputed: an element's size and charged person; a board's count, bytes,
/// revision and last change; and a person's unseen count and totals.
extension ElementsService: Verifiable {
    public static func rooms(after id: String, limit: Int, on connection: any Connection) throws -> [String] {
        try CountsStore(connection).roomIDs(after: id, limit: limit)
    }

    public static func differences(
        in roomID: String, members: [String], on connection: any Connection
    ) throws -> [Discrepancy] {
        guard !members.isEmpty else {
            // No repair: it would delete elements because a database of Rooms is older than this one.
            return [Discrepancy("boards of a room that is gone", kept: 1, counted: 0)]
        }
        let counts = CountsStore(connection)
        let board = try counts.board(of: roomID)
        let misjudged = try counts.misjudgedElements(of: roomID)
        let rows = try counts.rows(of: roomID, correcting: misjudged)
        var differences = misjudged.flatMap(elementDifferences)
        if (board?.elementCount ?? 0) != rows.count {
            differences.append(
                Discrepancy("elements", kept: board?.elementCount, counted: rows.count) {
                    try CountsStore($0).setCount(rows, of: roomID)
                })
        }
        if let kept = try counts.bytes(of: roomID), kept != rows.bytes {
            differences.append(
                Discrepancy("bytes of elements", kept: kept, counted: rows.bytes) {
                    try CountsStore($0).setBytes(rows.bytes, of: roomID)
                })
        }
        if let board { differences += historyDifferences(board, rows, roomID) }
        return try differences + unseenDifferences(roomID, members, counts)
    }

    public static func differencesOfPeople(on connection: any Connection) throws -> [Discrepancy] {
        let counts = CountsStore(connection)
        let (kept, counted) = (try counts.accounts(), try counts.accountRows())
        return Set(kept.keys).union(counted.keys).sorted().flatMap { person in
            accountDifferences(of: person, kept[person], counted[person] ?? CountsStore.Account(elements: 0, bytes: 0))
        }
    }

    private static func elementDifferences(_ element: CountsStore.Misjudged) -> [Discrepancy] {
        let repair: (any Connection) throws -> Void = {
            try CountsStore($0).set(element.size, chargedTo: element.person, ofElement: element.id)
        }
        var differences: [Discrepancy] = []
        if element.size != element.keptSize {
            differences.append(
                Discrepancy(
                    "bytes of element \(element.id)", kept: element.keptSize, counted: element.size, repair: repair))
        }
        if element.person != element.keptPerson {
            differences.append(
                Discrepancy(
                    "who element \(element.id) counts for", kept: "nobody", counted: element.person, repair: repair))
        }
        return differences
    }

    private static func accountDifferences(
        of person: String, _ kept: CountsStore.Account?, _ counted: CountsStore.Account
    ) -> [Discrepancy] {
        let numbers = [
            ("elements of \(person) in all rooms", kept?.elements, counted.elements),
            ("bytes of \(person)'s elements in all rooms", kept?.bytes, counted.bytes),
        ]
        return numbers.filter { $1 != $2 }.map { what, kept, number in
            Discrepancy(what, kept: kept, counted: number) { try CountsStore($0).setAccount(counted, of: person) }
        }
    }

    /// Returns the differences of a board's revision and time. Deleted elements leave no row, so their
    /// contribution to the revision and their times are unknown. But each change counts one, and the versions
    /// and ranks of elements give a minimum.
    private static func historyDifferences(
        _ board: BoardState, _ rows: CountsStore.Rows, _ roomID: String
    ) -> [Discrepancy] {
        var differences: [Discrepancy] = []
        if board.rev < rows.leastRev {
            differences.append(
                Discrepancy("revision", kept: "\(board.rev)", counted: "at least \(rows.leastRev)") {
                    try CountsStore($0).setRev(rows.leastRev, of: roomID)
                })
        }
        let hasDeletions = board.rev > rows.changes
        let isWrong = hasDeletions ? board.changedAt < rows.changedAt : board.changedAt != rows.changedAt
        if rows.count > 0, isWrong {
            let counted = "\(hasDeletions ? "no earlier than " : "")\(rows.changedAt.iso)"
            differences.append(
                Discrepancy("time of the last change", kept: board.changedAt.iso, counted: counted) {
                    try CountsStore($0).setTime(rows.changedAt, of: roomID)
                })
        }
        return differences
    }

    private static func unseenDifferences(
        _ roomID: String, _ members: [String], _ counts: CountsStore
    ) throws -> [Discrepancy] {
        let kept = try counts.unseenCounts(in: roomID)
        let rows = try counts.unseenRows(in: roomID)
        let present = try counts.whoHasOpen(roomID)
        return Set(kept.keys).union(rows.keys).sorted().compactMap { person in
            let isPresent = present.contains(person)
            let hasLeft = !members.contains(person)
            // Neither has unseen elements.
            let hasNone = isPresent || hasLeft
            var counted = hasNone ? 0 : rows[person] ?? 0
            // Only `maxUnseenRows` rows are stored, so a higher count cannot be verified.
            if counted >= BoardStore.maxUnseenRows { counted = max(counted, kept[person] ?? 0) }
            // A missing row stands for zero, and zero is not stored.
            let isRight = kept[person] == (counted == 0 ? nil : counted)
            guard !isRight || (hasNone && rows[person] != nil) else { return nil }
            let reason = hasLeft ? ", who has left" : isPresent ? ", who has the room open" : ""
            let what = "unseen elements of \(person)\(reason)"
            return Discrepancy(what, kept: kept[person], counted: counted) {
                try CountsStore($0).setUnseen(counted, of: person, in: roomID)
            }
        }
    }
}

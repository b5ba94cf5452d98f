import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// Verifies the numbers that are stored in addition to the messages: a room's last `seq`, its shown messages, the time of
/// its last change, and what each member has settled and sent. A room's last message and its readers are read from the
/// rows themselves.
extension MessagingService: Verifiable {
    public static func rooms(after id: String, limit: Int, on connection: any Connection) throws -> [String] {
        try CountsStore(connection).roomIDs(after: id, limit: limit)
    }

    public static func differences(
        in roomID: String, members: [String], on connection: any Connection
    ) throws -> [Discrepancy] {
        let counts = CountsStore(connection)
        guard let chat = try ChatsStore(connection).chats(of: [roomID]).first,
            try !MembersStore(connection).isDeleted(roomID)
        else { return [] }
        guard !members.isEmpty else {
            // No repair: it would delete messages because a database of Rooms is older than this one.
            return [Discrepancy("chats of a room that is gone", kept: 1, counted: 0)]
        }
        let (shown, deleted) = try (counts.tally(of: roomID, .shown), counts.tally(of: roomID, .deleted))
        let all = Tally(
            count: shown.count + deleted.count, lastSeq: max(shown.lastSeq, deleted.lastSeq),
            lastAt: max(shown.lastAt, deleted.lastAt))
        var differences = chatDifferences(chat, all, hasDeletions: deleted.count > 0, roomID)
        if all.count != all.lastSeq {
            differences.append(Discrepancy("messages up to seq \(all.lastSeq)", kept: all.count, counted: all.lastSeq))
        }
        if chat.shown != shown.count, all.count > 0 {
            differences.append(
                Discrepancy("shown messages", kept: chat.shown, counted: shown.count) {
                    try CountsStore($0).setShown(shown.count, of: roomID)
                })
        }
        let kept = try counts.members(in: roomID)
        for person in kept.keys.filter({ !members.contains($0) }).sorted() {
            differences.append(
                Discrepancy("counts of \(person), who has left", kept: 1, counted: 0) {
                    try MembersStore($0).remove(person, from: roomID)
                })
        }
        for person in members.sorted() {
            let counted = try counts.count(kept[person] ?? MemberCounts(), of: person, in: roomID, shown: shown.count)
            if let difference = difference(kept[person], counted, of: person, in: roomID, shown: shown.count) {
                differences.append(difference)
            }
        }
        return differences
    }

    /// Returns the first number of a member that differs. Its repair sets them all.
    private static func difference(
        _ kept: MemberCounts?, _ counted: MemberCounts, of person: String, in roomID: String, shown: Int
    ) -> Discrepancy? {
        let numbers: [(name: String, of: (MemberCounts) -> Int)] = [
            ("unread messages", { shown - $0.settled }), ("sent messages", \.sent),
            ("messages before the first unread one", \.frontier),
        ]
        guard let (name, number) = numbers.first(where: { kept.map($0.of) ?? 0 != $0.of(counted) }) else { return nil }
        return Discrepancy("\(name) of \(person)", kept: kept.map(number), counted: number(counted)) {
            try CountsStore($0).setMember(counted, of: person, in: roomID)
        }
    }

    /// Returns the rooms whose chat somebody deleted by hand: their messages cannot be shown, as nothing else says which
    /// room has a number. And the receipts without a message.
    public static func differencesOfPeople(on connection: any Connection) throws -> [Discrepancy] {
        let counts = CountsStore(connection)
        let chats = try counts.numbersWithoutChat().map {
            Discrepancy("chats with the number \($0)", kept: 0, counted: 1)
        }
        let receipts = try counts.receiptsWithoutMessage()
        guard receipts > 0 else { return chats }
        return chats + [
            Discrepancy("receipts without a message", kept: receipts, counted: 0) {
                try CountsStore($0).removeReceiptsWithoutMessage()
            }
        ]
    }

    /// Returns the differences of a chat. Rows do not contain the time of a deletion: after one, the room's
    /// time may be any that is not before the last message.
    private static func chatDifferences(
        _ chat: Chat, _ rows: Tally, hasDeletions: Bool, _ roomID: String
    ) -> [Discrepancy] {
        var differences: [Discrepancy] = []
        if rows.count == 0 || chat.lastSeq != rows.lastSeq {
            differences.append(
                Discrepancy("last seq", kept: chat.lastSeq, counted: rows.lastSeq) {
                    let counts = CountsStore($0)
                    if rows.count == 0 {
                        try counts.removeChat(roomID)
                    } else {
                        try counts.setLastSeq(rows.lastSeq, of: roomID)
                    }
                })
        }
        if rows.count > 0, hasDeletions ? chat.updatedAt < rows.lastAt : chat.updatedAt != rows.lastAt {
            let counted = "\(hasDeletions ? "no earlier than " : "")\(rows.lastAt.iso)"
            differences.append(
                Discrepancy("time of the last change", kept: chat.updatedAt.iso, counted: counted) {
                    try CountsStore($0).setTime(rows.lastAt, of: roomID)
                })
        }
        return differences
    }
}

/// The totals over some messages of a room.
struct Tally {
    let count: Int
    let lastSeq: Int
    /// The time at which the last of them was sent.
    let lastAt: Timestamp
}

import Foundation

extension Message {
    /// Below every other: where a room begins.
    static let lowestSortKey = -(1 << 62)

    /// Its place among a room's messages: its `seq`. One that has none, from an older server, stands by its time, before all
    /// that have one; of the same millisecond the ids decide.
    ///
    /// Times leave no gaps to be seen, and nothing before or after them can be asked for: of such a room the newest page is
    /// shown, and what comes as an event.
    var sortKey: Int {
        guard seq <= 0 else { return seq }
        // Until the year 2109 in 42 bits, and 20 bits of the id.
        let time = Int(min(max(createdAt.timeIntervalSince1970 * 1000, 0), 4_398_046_511_103))
        return Self.lowestSortKey + (time << 20 | Int(idBits))
    }

    /// FNV-1a, folded: the same on every device.
    private var idBits: UInt32 {
        let hash = id.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        return (hash >> 20 ^ hash) & 0xF_FFFF
    }

    /// An older server does not say of which room it is, but whoever asked knows.
    func inRoom(_ roomID: String) -> Message {
        guard roomId.isEmpty else { return self }
        var message = self
        message.roomId = roomID
        return message
    }
}

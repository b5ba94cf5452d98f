import Foundation

extension Message {
    /// The lowest key: the beginning of a room.
    static let lowestSortKey = -(1 << 62)

    /// The message's position among a room's messages: its `seq`.
    ///
    /// Older servers send no `seq`. Their messages are sorted by time, before all messages with a `seq`. Ids break ties
    /// within a millisecond. Times do not reveal gaps, and pages cannot be requested by time. So such a room shows its
    /// newest page and later events.
    var sortKey: Int {
        guard seq <= 0 else { return seq }
        // The time in milliseconds takes 42 bits, until the year 2109. The other 20 bits are of the id.
        let time = Int(min(max(createdAt.timeIntervalSince1970 * 1000, 0), 4_398_046_511_103))
        return Self.lowestSortKey + (time << 20 | Int(idBits))
    }

    /// The id's FNV-1a hash, folded: the same on every device.
    private var idBits: UInt32 {
        let hash = id.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        return (hash >> 20 ^ hash) & 0xF_FFFF
    }

    /// Returns the message with its room, which older servers omit.
    func inRoom(_ roomID: String) -> Message {
        guard self.roomID.isEmpty else { return self }
        var message = self
        message.roomID = roomID
        return message
    }
}

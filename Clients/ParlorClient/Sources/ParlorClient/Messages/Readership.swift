import Foundation

/// The people whose reading decides whether a message counts as read: those who have been in the room ever since it was
/// sent.
package struct Readership: Equatable, Sendable {
    /// The time at which each participant came. If empty, they are unknown, which counts as a room of two.
    private var joinedAt: [String: Date]
    /// False if there are more participants. Only the server knows then whether all have read a message.
    private let isWhole: Bool

    package init(joinedAt: [String: Date] = [:]) {
        self.joinedAt = joinedAt
        isWhole = true
    }

    init(of room: Room) {
        joinedAt = Dictionary(room.participants.map { ($0.userID, $0.joinedAt) }) { $1 }
        isWhole = room.hasAllParticipants
    }

    var isKnown: Bool { isWhole && !joinedAt.isEmpty }

    /// Returns true if everybody has read a message that somebody has read.
    func haveAllRead(_ message: Message) -> Bool {
        let readers = Set(message.readBy.map(\.userID))
        return isWhole
            && joinedAt.allSatisfy { userID, time in
                // `joinedAt` is cut to the second. Who came within the second of the message counts as one who has to
                // read it, until the server says otherwise.
                readers.contains(userID) || userID == message.senderID || time > message.createdAt
            }
    }
}

import ParlorClient

/// A room with its contents. Times are milliseconds since 1970.
struct RoomState: Sendable {
    struct Participant: Sendable {
        var userID: String
        var joinedAt: Int
    }

    struct StoredMessage: Sendable {
        var id: String
        var seq: Int
        var senderID: String
        var text: String
        var createdAt: Int
        var tempID: String?
        var reads: [Read] = []
    }

    struct Read: Sendable {
        var userID: String
        var readAt: Int
    }

    struct StoredElement: Sendable {
        var id: String
        var type: String
        var content: JSON
        var position: JSON
        var createdBy: String
        var createdAt: Int
        var updatedBy: String
        var updatedAt: Int
        var version = 1
        var tempID: String?
    }

    /// A `tempId` of one person. Another person's equal `tempId` is a different one.
    struct TempID: Hashable, Sendable {
        var userID: String
        var text: String
    }

    let id: String
    var name: String?
    let createdBy: String
    let createdAt: Int
    var updatedAt: Int
    var messagesUpdatedAt: Int?
    /// The participants, the creator first.
    var participants: [Participant]
    var messages: [StoredMessage] = []
    var lastSeq = 0
    var elements: [StoredElement] = []
    var rev = 0
    /// The number of elements that each person has not seen, by the person's id.
    var unseen: [String: Int] = [:]
    /// The ids of messages by `tempId`, including deleted messages.
    var messagesByTempID: [TempID: String] = [:]
    var elementsByTempID: [TempID: String] = [:]

    func isParticipant(_ userID: String) -> Bool { participants.contains { $0.userID == userID } }

    func others(than userID: String) -> [String] { participants.map(\.userID).filter { $0 != userID } }

    func unread(by userID: String) -> Int {
        messages.count { message in
            message.senderID != userID && !message.reads.contains { $0.userID == userID }
        }
    }

    var lastActivityAt: Int { max(updatedAt, messagesUpdatedAt ?? .min) }
}

import ParlorContracts
import ParlorSecurity
import ParlorServiceKit

/// A message's position in the conversation of two people over all rooms that they share. Encoded, it is the
/// cursor of a page.
struct ConversationCursor: Sendable, Equatable, Comparable {
    let createdAt: Timestamp
    let seq: Int
    /// The id, which orders messages of different rooms that are equal otherwise.
    let messageID: String

    init(_ message: Message) {
        createdAt = message.createdAt
        seq = message.seq
        messageID = message.id
    }

    init(createdAt: Timestamp, seq: Int, messageID: String) {
        self.createdAt = createdAt
        self.seq = seq
        self.messageID = messageID
    }

    /// - Throws: `malformed_request` for anything that `encoded` would not write.
    init(encoded: String) throws(ServiceError) {
        let text = Base64URL.decode(encoded).map { String(decoding: $0, as: UTF8.self) }
        let parts = text?.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, let milliseconds = Int(parts[0]), let seq = Int(parts[1]), !parts[2].isEmpty,
            String(parts[2]).mayBeID
        else {
            throw .wrongType("before", "the `page.next` of the previous page")
        }
        createdAt = Timestamp(milliseconds: milliseconds)
        self.seq = seq
        messageID = String(parts[2])
    }

    var encoded: String { Base64URL.encode(Array("\(createdAt.milliseconds).\(seq).\(messageID)".utf8)) }

    static func < (a: ConversationCursor, b: ConversationCursor) -> Bool {
        (a.createdAt, a.seq, a.messageID) < (b.createdAt, b.seq, b.messageID)
    }
}

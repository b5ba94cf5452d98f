import Foundation
import ParlorClient

/// A message of a room. Times are milliseconds since 1970.
struct StoredMessage: Sendable {
    let id: String
    let seq: Int
    let sender: Person
    let text: String
    let createdAt: Int
    let tempID: String?
    var reads: [(userID: String, readAt: Int)] = []

    func isUnread(by participant: StoredParticipant) -> Bool {
        isFor(participant) && !reads.contains { $0.userID == participant.id }
    }

    /// Returns true if the participant has to read the message. Who came later need not.
    func isFor(_ participant: StoredParticipant) -> Bool {
        sender.id != participant.id && participant.joinedAt < createdAt
    }
}

/// The messages of a room, oldest first.
struct Messages: Sendable {
    private(set) var all: [StoredMessage] = []
    private var lastSeq = 0
    /// The ids of messages by `tempId`, including deleted messages.
    private var ids: [TempID: String] = [:]

    func unread(by participant: StoredParticipant) -> Int { all.count { $0.isUnread(by: participant) } }

    /// Adds a message, or returns the earlier one with the same `tempId`.
    mutating func add(
        _ fields: JSON, by sender: Person, _ numbers: inout Numbers
    ) throws(Refused) -> (message: StoredMessage, isNew: Bool) {
        let name = fields.member("text") == nil && fields.member("content") != nil ? "content" : "text"
        let text = try fields.required(name).trimmingCharacters(in: .whitespacesAndNewlines)
        guard (1...4000).contains(text.unicodeScalars.count) else {
            throw .invalid(name, "must have 1 to 4000 characters")
        }
        let tempID = try fields.tempID(of: sender.id)
        if let tempID, let id = ids[tempID] {
            guard let message = all.first(where: { $0.id == id }) else { throw .notFound("message") }
            return (message, false)
        }
        let time = numbers.stamp()
        lastSeq += 1
        let message = StoredMessage(
            id: numbers.makeID(at: time), seq: lastSeq, sender: sender, text: text, createdAt: time,
            tempID: tempID?.text)
        all.append(message)
        if let tempID { ids[tempID] = message.id }
        return (message, true)
    }

    /// Removes a message, and returns it.
    mutating func remove(_ id: String, by userID: String) throws(Refused) -> StoredMessage {
        guard let index = all.firstIndex(where: { $0.id == id }) else { throw .notFound("message") }
        guard all[index].sender.id == userID else { throw .forbidden("Only the sender of a message can delete it.") }
        return all.remove(at: index)
    }

    /// Marks messages as read, and returns the ids of those that were unread.
    mutating func markRead(_ ids: Set<String>, by reader: StoredParticipant, at time: Int) -> [String] {
        let unread = all.indices.filter { ids.contains(all[$0].id) && all[$0].isUnread(by: reader) }
        for index in unread { all[index].reads.append((reader.id, time)) }
        return unread.map { all[$0].id }
    }

    func page(_ query: Query, _ json: (StoredMessage) -> JSON) throws(Refused) -> Answer {
        let (before, after) = (try query.integer("before"), try query.integer("after"))
        let limit = try query.limit(standard: 50, max: 200)
        let found = all.filter { $0.seq < before ?? .max && $0.seq > after ?? .min }
        let shown = Array(after == nil ? found.suffix(limit) : found.prefix(limit))
        let edge = after == nil ? shown.first : shown.last
        let next = found.count > limit ? edge.map { String($0.seq) } : nil
        return Answer(200, .array(shown.map(json)), next: .some(next))
    }
}

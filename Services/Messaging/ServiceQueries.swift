import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorStorage
import ParlorWorkers

/// Answers to other services.
extension Messaging {
    /// Returns whether a person has ever written in one of these rooms, for other services: `{by, roomIds}` → `{isAnswered}`.
    static func findAnswer(_ request: Request, on connection: any Connection) throws -> Reply {
        let userID = try request.fields.string("by")
        let roomIDs = try request.fields.strings("roomIds", count: 0 ... .max)
        let isAnswered = try ChatsStore(connection).hasSent(userID, in: roomIDs)
        return Reply(.ok, JSONWriter.object { $0.member("isAnswered", isAnswered) })
    }

    /// The limit of ids in one request.
    private static let maxIDs = 1000

    /// Returns which messages were not deleted, for services that keep something about messages: `{messageIds,
    /// roomId?}` → `{messageIds}`, in no order. With `roomId`, messages of other rooms are left out.
    static func existing(_ request: Request, on connection: any Connection) throws -> Reply {
        let ids = try request.fields.strings("messageIds", count: 0...maxIDs)
        let roomID = try request.fields.optionalString("roomId")
        let existing = try MessagesStore(connection).existing(ids, in: roomID)
        return Reply(.ok, JSONWriter.object { $0.member("messageIds", existing) })
    }

    /// Returns messages that were not deleted, in the order of their ids, for services that follow the log: `{id,
    /// roomId, seq, senderId, text, createdAt}`, the time in milliseconds.
    static func snapshot(after id: String, limit: Int, on connection: any Connection) throws -> [SnapshotItem] {
        try MessagesStore(connection).messages(after: id, limit: limit).map { message in
            let json = JSONWriter.object(reservingCapacity: message.text.utf8.count + 256) {
                $0.member("id", message.id)
                $0.member("roomId", message.roomID)
                $0.member("seq", message.seq)
                $0.member("senderId", message.senderID)
                $0.member("text", message.text)
                $0.member("createdAt", message.createdAt.milliseconds)
            }
            return SnapshotItem(id: message.id, json: json)
        }
    }

    /// The limits of one request: people, messages, and the bytes of a text in the reply. Together they fit a
    /// line of the bus.
    private static let maxPeople = 64
    private static let maxTextBytes = 4096

    /// Returns unread messages, for services that notify people outside the app: `{people: [{userId,
    /// messageIds}]}` → for each person, in order, `{unread, messages: [{seq, senderId, text}|null]}`. `unread`
    /// is the total over all rooms. A requested message is null if the person has read or sent it, or if it does
    /// not exist any more. Long texts are truncated.
    static func unread(_ request: Request, on connection: any Connection) throws -> Reply {
        guard let people = request.fields["people"]?.array else { throw ServiceError.wrongType("people", "a list") }
        guard people.count <= maxPeople else { throw ServiceError.invalid("people", "has at most \(maxPeople)") }
        let queries = try people.map { try RequestFields($0) }.map { fields in
            (userID: try fields.string("userId"), messageIDs: try fields.strings("messageIds", count: 0...maxPeople))
        }
        guard queries.reduce(0, { $0 + $1.messageIDs.count }) <= maxPeople else {
            throw ServiceError.invalid("messageIds", "has at most \(maxPeople) for all people together")
        }
        let (chats, messages) = (ChatsStore(connection), MessagesStore(connection))
        let results = try queries.map { query in
            // Only Push sends this request, and it can wait: before each person, let threads that handle sends run.
            ThreadPriority.giveWay()
            let found =
                query.messageIDs.isEmpty ? [:] : try messages.unread(query.messageIDs, of: query.userID)
            return (total: try chats.unreadTotal(of: query.userID), found: query.messageIDs.map { found[$0] })
        }
        return Reply(
            .ok,
            JSONWriter.object(reservingCapacity: 1024) { json in
                json.name("people")
                json.array(of: results) { json, result in
                    json.object {
                        $0.member("unread", result.total)
                        $0.name("messages")
                        $0.array(of: result.found) { json, message in
                            guard let message else { return json.null() }
                            json.object {
                                $0.member("seq", message.seq)
                                $0.member("senderId", message.senderID)
                                $0.member("text", message.text.prefix(utf8: maxTextBytes))
                            }
                        }
                    }
                }
            })
    }
}

extension String {
    /// Returns the longest prefix of whole Unicode scalars that fits.
    fileprivate func prefix(utf8 limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        // An index between the bytes of one scalar has no position among the scalars.
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}

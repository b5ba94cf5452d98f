import Contracts
import JSON
import ServiceKit
import Storage
import Workers

/// Answers to other services.
extension Messaging {
    /// For other services: `{userId, roomIds}` → `{isAnswered}`: whether anybody but the person has ever written in one of these rooms.
    static func findAnswer(_ request: Request, on connection: any Connection) throws -> Reply {
        let userID = try request.fields.string("userId")
        let roomIDs = try request.fields.strings("roomIds", count: 0 ... .max)
        let isAnswered = try ChatsStore(connection).hasReceived(userID, in: roomIDs)
        return Reply(.ok, JSONWriter.object { $0.member("isAnswered", isAnswered) })
    }

    /// People in one question, messages of one person in it, and bytes of a text in the answer: together they fit the bus' line.
    private static let maxPeople = 64
    private static let maxTextBytes = 4096

    /// For services that notify people outside the app: `{people: [{userId, messageIds}]}` → for
    /// each person, in order, `{unread, messages: [{senderId, text}|null]}`. `unread` is the total
    /// over all rooms; of the requested messages those that the person has not read are included.
    /// Long texts are cut.
    static func unread(_ request: Request, on connection: any Connection) throws -> Reply {
        guard let people = request.fields["people"]?.array else { throw ServiceError.wrongType("people", "a list") }
        guard people.count <= maxPeople else { throw ServiceError.invalid("people", "has at most \(maxPeople)") }
        let questions = try people.map { try RequestFields($0) }.map { fields in
            (userID: try fields.string("userId"), messageIDs: try fields.strings("messageIds", count: 0...maxPeople))
        }
        guard questions.reduce(0, { $0 + $1.messageIDs.count }) <= maxPeople else {
            throw ServiceError.invalid("messageIds", "has at most \(maxPeople) for all people together")
        }
        let (chats, messages) = (try ChatsStore(connection), MessagesStore(connection))
        let answers = try questions.map { question in
            // Push asks, and is in no hurry: between two people whoever has a message to send has a turn at the core.
            ThreadPriority.giveWay()
            let found =
                question.messageIDs.isEmpty ? [:] : try messages.unread(question.messageIDs, of: question.userID)
            return (total: try chats.unreadTotal(of: question.userID), found: question.messageIDs.map { found[$0] })
        }
        return Reply(
            .ok,
            JSONWriter.object(reservingCapacity: 1024) { json in
                json.name("people")
                json.array(of: answers) { json, answer in
                    json.object {
                        $0.member("unread", answer.total)
                        $0.name("messages")
                        $0.array(of: answer.found) { json, message in
                            guard let message else { return json.null() }
                            json.object {
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
    /// As many whole characters of Unicode from its start as fit.
    fileprivate func prefix(utf8 limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        // Between the bytes of one there is no index of scalars.
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}

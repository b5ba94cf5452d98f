import Contracts
import JSON
import ServiceKit
import Storage

extension Messaging {
    /// What a person's rooms show of their messages: `messagesUpdatedAt`, `lastMessage` and `badges.messages`, for many
    /// rooms in one read.
    static func contribute(_ request: Request, on connection: any Connection) throws -> Reply {
        let userID = try request.fields.string("userId")
        let roomIDs = try request.fields.strings("roomIds", count: 0 ... .max)
        let summaries = try ChatsStore(connection).summaries(of: roomIDs, for: userID)
        return Reply(
            .ok,
            JSONWriter.object(reservingCapacity: 256 * roomIDs.count + 64) {
                $0.member(
                    "rooms",
                    array: {
                        for roomID in roomIDs {
                            if let summary = summaries[roomID] { summary.write(to: &$0) } else { $0.null() }
                        }
                    })
            })
    }
}

/// What a list of rooms shows of one room's messages to one person.
struct ChatSummary {
    let updatedAt: Timestamp
    let unread: Int
    let lastMessage: Message?

    /// In the order of the manifest's fields.
    func write(to json: inout JSONWriter) {
        json.array {
            $0.number(updatedAt.milliseconds)
            if let lastMessage {
                $0.object {
                    $0.member("id", lastMessage.id)
                    $0.member("senderId", lastMessage.senderID)
                    $0.member("text", lastMessage.text)
                    $0.member("createdAt", lastMessage.createdAt.iso)
                }
            } else {
                $0.null()
            }
            $0.number(unread)
        }
    }
}

import ParlorContracts
import ParlorJSON

/// A stored message. Its form for others also depends on the room's participants and on its receipts.
struct Message: Sendable {
    let id: String
    let roomID: String
    let seq: Int
    let senderID: String
    let text: String
    let createdAt: Timestamp
    let tempID: String?

    static let schema = Schema.named(
        "Message",
        .object([
            "id": .id, "roomId": .id,
            "seq": Schema.integer(from: 1).noted("Numbers the messages of a room, in the order of `createdAt`."),
            "senderId": .id,
            "sender": .object(["id": .id, "username": .string, "firstName": Schema.string.orNull]),
            "receiverId": Schema.id.orNull.noted("The other person of a two-person room."), "text": .string,
            "content": Schema.string.noted("Repeats `text`."), "createdAt": .time,
            "readStatus": Schema.boolean.noted("Every other participant has read it."),
            "readBy": .array(of: Receipt.schema), "tempId": Schema.string.orNull,
        ]))

    func json(in room: Membership, readBy receipts: [Receipt] = []) -> JSONValue {
        // The text twice, and about half a kilobyte around it.
        JSONWriter.value(reservingCapacity: 2 * text.utf8.count + 640) {
            write(to: &$0, in: room, readBy: receipts)
        }
    }

    /// Writes the message in the form of the contract. `content`, `receiverId` and `readStatus` are for
    /// clients with the older model.
    func write(to json: inout JSONWriter, in room: Membership, readBy receipts: [Receipt]) {
        let others = room.participants.count - 1
        let receiver = others == 1 ? room.participants.first { $0.userID != senderID } : nil
        let sender = room.participant(senderID)
        json.object {
            $0.member("id", id)
            $0.member("roomId", roomID)
            $0.member("seq", seq)
            $0.member("senderId", senderID)
            $0.member(
                "sender",
                object: {
                    $0.member("id", senderID)
                    // Participants never change, so the sender is in the room.
                    $0.member("username", sender?.username)
                    $0.member("firstName", sender?.firstName)
                })
            $0.member("receiverId", receiver?.userID)
            let encoded = JSONValue(text)
            $0.member("text", encoded)
            $0.member("content", encoded)
            $0.member("createdAt", createdAt.iso)
            $0.member("readStatus", others > 0 && receipts.count >= others)
            $0.member("readBy", array: { for receipt in receipts { receipt.write(to: &$0) } })
            $0.member("tempId", tempID)
        }
    }
}

/// A record that a person has read another's message, and when.
struct Receipt: Sendable {
    let userID: String
    let readAt: Timestamp

    static let schema = Schema.named("Receipt", .object(["userId": .id, "readAt": .time]))

    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("userId", userID)
            $0.member("readAt", readAt.iso)
        }
    }
}

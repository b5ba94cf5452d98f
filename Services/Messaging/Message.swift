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
            "readStatus": Schema.boolean.noted(
                "Everybody who has been a participant ever since it was sent, but its sender, has read it."),
            "readCount": Schema.integer(from: 0).noted("How many have read it."),
            "readBy": Schema.array(of: Receipt.schema).noted("The first 20 who have read it, in the order of reading."),
            "tempId": Schema.string.orNull,
            "editedAt": Schema.time.orNull, "version": Schema.integer(from: 1), "replyTo": Schema.null,
            "reactions": .array(of: .null), "attachments": .array(of: .null),
        ]))

    /// The number of readers that a message shows.
    private static let shownReaders = 20

    func json(in room: Membership, _ surroundings: MessageSurroundings = MessageSurroundings()) -> JSONValue {
        // The text twice, and about 700 bytes around it.
        JSONWriter.value(reservingCapacity: 2 * text.utf8.count + 768) { write(to: &$0, in: room, surroundings) }
    }

    /// Writes the message in the form of the contract. `content`, `receiverId` and `readStatus` are for
    /// clients with the older model.
    func write(to json: inout JSONWriter, in room: Membership, _ surroundings: MessageSurroundings) {
        let receiver = room.kind == .direct ? room.participants.first { $0.userID != senderID } : nil
        let sender = room.participant(senderID)
        let former = sender == nil ? surroundings.formerSenders[senderID] : nil
        let receipts = surroundings.receipts[id] ?? []
        json.object {
            $0.member("id", id)
            $0.member("roomId", roomID)
            $0.member("seq", seq)
            $0.member("senderId", senderID)
            $0.member(
                "sender",
                object: {
                    $0.member("id", senderID)
                    $0.member("username", sender?.username ?? former?.username ?? "")
                    $0.member("firstName", sender?.firstName ?? former?.firstName)
                })
            $0.member("receiverId", receiver?.userID)
            let encoded = JSONValue(text)
            $0.member("text", encoded)
            $0.member("content", encoded)
            $0.member("createdAt", createdAt.iso)
            $0.member("readStatus", surroundings.haveAllRead(self, in: room))
            $0.member("readCount", receipts.count)
            $0.member("readBy", array: { for receipt in receipts.prefix(Self.shownReaders) { receipt.write(to: &$0) } })
            $0.member("tempId", tempID)
            $0.member("editedAt", nil as String?)
            $0.member("version", 1)
            $0.member("replyTo", nil as String?)
            $0.member("reactions", JSONValue.emptyArray)
            $0.member("attachments", JSONValue.emptyArray)
        }
    }
}

/// What messages of a room show besides their own rows: who has read them, who has to, and who has left.
struct MessageSurroundings: Sendable {
    /// By message, in the order of reading.
    var receipts: [String: [Receipt]] = [:]
    /// The `seq` of the last message from before they came, of people who came after the first one.
    var joinedSeqs: [String: Int] = [:]
    /// The senders who have left the room.
    var formerSenders: [String: FormerPerson] = [:]

    /// Returns true if all have read the message who were in the room when it was sent and still are, but its sender.
    func haveAllRead(_ message: Message, in room: Membership) -> Bool {
        let receipts = receipts[message.id] ?? []
        return room.participants.allSatisfy { participant in
            participant.userID == message.senderID || joinedSeqs[participant.userID, default: 0] >= message.seq
                || receipts.contains { $0.userID == participant.userID }
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

import Foundation
import ParlorClient

let start = Date(timeIntervalSince1970: 1_700_000_000)

/// Returns a message whose time rises with its `seq`, as on the server.
func sample(
    _ seq: Int, from sender: String = "ann", text: String? = nil, tempID: String? = nil, room: String = "room",
    readBy: [Message.Receipt] = [], isRead: Bool = false
) -> Message {
    Message(
        id: "m\(seq)", roomID: room, seq: seq, senderID: sender, text: text ?? "text \(seq)",
        createdAt: start.addingTimeInterval(Double(seq)), readBy: readBy, isRead: isRead, tempID: tempID)
}

func page(_ seqs: some Sequence<Int>, next: String? = nil) -> Page<Message> {
    Page(items: seqs.map { sample($0) }, next: next)
}

func receipt(_ userID: String, _ seconds: Double = 0) -> Message.Receipt {
    Message.Receipt(userID: userID, readAt: start.addingTimeInterval(seconds))
}

extension MessageItems {
    /// The items in short form: the id of a stored message, such as `m3`, and the text of a pending one.
    var shown: [String] { map { $0.message?.id ?? $0.text } }
}

extension Readership {
    /// People who have been in the room from the start.
    static func of(_ userIDs: String...) -> Readership {
        Readership(joinedAt: Dictionary(uniqueKeysWithValues: userIDs.map { ($0, .distantPast) }))
    }
}

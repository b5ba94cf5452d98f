import ParlorContracts
import ParlorJSON

struct Poll: Sendable, Equatable {
    let id: String
    let question: String
    let choices: [String]
    /// The number of votes for each choice.
    let votes: [Int]
    let createdBy: String
    let createdAt: Timestamp
    /// The message that the poll is about, which may have been deleted.
    var messageID: String?

    static let schema = Schema.named(
        "Poll",
        .object([
            "id": .id, "question": .string,
            "choices": .array(of: .object(["text": .string, "votes": .integer(from: 0)])),
            "createdBy": .id, "createdAt": .time, "messageId": .id.orNull,
        ]))

    var json: JSONValue {
        JSONWriter.object {
            $0.member("id", id)
            $0.member("question", question)
            $0.name("choices")
            $0.array(of: zip(choices, votes)) { json, choice in
                json.object {
                    $0.member("text", choice.0)
                    $0.member("votes", choice.1)
                }
            }
            $0.member("createdBy", createdBy)
            $0.member("createdAt", createdAt.iso)
            $0.member("messageId", messageID)
        }
    }

    /// Returns the data of an event about the poll.
    func event(in roomID: String) -> JSONValue {
        JSONWriter.object {
            $0.member("roomId", roomID)
            $0.member("poll", json)
        }
    }
}

extension ErrorCode {
    /// A code of the service's own. It is nil only for a name or a status that is not allowed.
    static let pollNotFound = ErrorCode.own("poll_not_found", 404)
}

/// What a message shows of the newest poll about it.
struct PollOfMessage: Sendable, Equatable {
    let id: String
    let question: String
    /// The number of people who voted.
    let votes: Int

    static let schema = Schema.named(
        "PollOfMessage", .object(["id": .id, "question": .string, "votes": .integer(from: 0)]))

    var json: JSONValue {
        JSONWriter.object {
            $0.member("id", id)
            $0.member("question", question)
            $0.member("votes", votes)
        }
    }
}

/// What lists of rooms show of a room's polls to one person.
struct PollsSummary: Sendable, Equatable {
    let count: Int
    /// Polls of others in which the person has not voted.
    let unanswered: Int
}

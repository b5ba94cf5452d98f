import Contracts
import JSON

struct Poll: Sendable, Equatable {
    let id: String
    let question: String
    let choices: [String]
    /// The number of votes for each choice.
    let votes: [Int]
    let createdBy: String
    let createdAt: Timestamp

    static let schema = Schema.named(
        "Poll",
        .object([
            "id": .id, "question": .string,
            "choices": .array(of: .object(["text": .string, "votes": .integer(from: 0)])),
            "createdBy": .id, "createdAt": .time,
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

/// What lists of rooms show of a room's polls to one person.
struct PollsSummary: Sendable, Equatable {
    let count: Int
    /// Polls of others in which the person has not voted.
    let unanswered: Int
}

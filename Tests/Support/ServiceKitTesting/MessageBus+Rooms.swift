import ParlorContracts
import ParlorMessageBus
import ParlorServiceKit
import Testing

extension MessageBus {
    /// Stands in for the rooms service, and answers who is in a room: `["room-1": ["alice", "bob"]]`. Any other request
    /// to that service fails the test.
    public func serveRooms(_ rooms: [String: [String]]) throws {
        try respond(to: "rooms.>", queue: "rooms") { request in
            guard request.subject == Subject.membership, let id = request.data["roomId"]?.string else {
                Issue.record("an unexpected request: \(request.subject)")
                return request.reply(ServiceError(.internal, "unexpected").json)
            }
            guard let people = rooms[id] else { return request.reply(ServiceError.roomNotFound.json) }
            let participants = people.map {
                Participant(userID: $0, username: $0, firstName: nil, joinedAt: Timestamp(milliseconds: 0))
            }
            request.reply(Reply(.ok, Membership(roomID: id, participants: participants).json).json)
        }
    }
}

import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import Synchronization
import Testing

/// The rooms service as far as messaging may ask it: any other request fails the test.
final class FakeRooms: Sendable {
    private let rooms = Mutex<[Membership]>([])
    private let questions = Mutex<[String]>([])
    /// Whether it is an earlier version without `idsOnly`.
    let isOld = Mutex(false)

    init(on bus: any MessageBus) throws {
        for pattern in ["rooms.>", "accounts.>"] {
            try bus.respond(to: pattern, queue: "others") { [weak self] request in
                request.reply(self?.answer(request.subject, request.data) ?? ServiceError.unavailable("Rooms").json)
            }
        }
    }

    /// - Returns: the room's id.
    func make(_ id: String, _ people: String..., firstName: String? = nil) -> String {
        make(id, people, firstName: firstName)
    }

    func make(_ id: String, _ people: [String], version: Int = 1, firstName: String? = nil) -> String {
        let participants = people.map {
            Participant(
                userID: $0, username: "\($0).name", firstName: firstName ?? $0.uppercased(),
                joinedAt: Timestamp(milliseconds: 0))
        }
        let kind = people.count == 2 ? RoomKind.direct : .group
        rooms.withLock { $0.append(Membership(roomID: id, version: version, kind: kind, participants: participants)) }
        return id
    }

    /// Replaces the people of a group.
    func change(_ id: String, to people: [String], version: Int) {
        rooms.withLock { $0.removeAll { $0.roomID == id } }
        guard !people.isEmpty else { return }
        _ = make(id, people, version: version)
    }

    /// The requests in order.
    var asked: [String] { questions.withLock { $0 } }

    private func answer(_ subject: String, _ data: JSONValue) -> JSONValue {
        questions.withLock { $0.append(subject) }
        let rooms = rooms.withLock { $0 }
        switch subject {
        case "rooms.membership":
            let found = rooms.first { $0.roomID == data["roomId"]?.string }
            return found.map { Reply(.ok, $0.json).json } ?? ServiceError.roomNotFound.json
        case "rooms.shared":
            guard let one = data["userId"]?.string, let other = data["otherUserId"]?.string,
                rooms.contains(where: { $0.participant(other) != nil })
            else { return ServiceError.userNotFound.json }
            let shared = rooms.filter { $0.participant(one) != nil && $0.participant(other) != nil }
            // As a version before it answers.
            guard data["idsOnly"]?.bool == true, !isOld.withLock({ $0 }) else {
                return Reply(.ok, JSONWriter.value { $0.array(of: shared) { $1.write(to: &$0) } }).json
            }
            return Reply(.ok, JSONWriter.value { $0.array(of: shared) { $0.string($1.roomID) } }).json
        default:
            Issue.record("messaging asked \(subject)")
            return ServiceError.unavailable(subject).json
        }
    }
}

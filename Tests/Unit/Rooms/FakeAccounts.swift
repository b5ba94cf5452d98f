import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import Synchronization
import Testing

/// Answers `accounts.people` for the test's people, each with an address; any other request is an
/// error.
final class FakeAccounts: Sendable {
    private let people = Mutex<[String: Caller]>([:])
    private let subscription = Mutex<BusSubscription?>(nil)
    /// The requests that it has received since it hangs; nil while it answers.
    private let unanswered = Mutex<Int?>(nil)

    init(on bus: any MessageBus) throws {
        let subscription = try bus.respond(to: "accounts.>", queue: "accounts") { [weak self] in self?.answer($0) }
        self.subscription.withLock { $0 = subscription }
    }

    /// Again, with another name: the person has changed it.
    func add(_ person: Caller) { people.withLock { $0[person.id] = person } }

    func forget(_ person: Caller) { people.withLock { $0[person.id] = nil } }

    func takeDown() { subscription.withLock { $0 }?.cancel() }

    /// Answers no more requests.
    func hang() { unanswered.withLock { $0 = 0 } }

    var unansweredCount: Int { unanswered.withLock { $0 ?? 0 } }

    private func answer(_ request: BusRequest) {
        let hangs = unanswered.withLock { count in
            count? += 1
            return count != nil
        }
        if hangs { return }
        guard request.subject == "accounts.people", let ids = request.data["ids"]?.array?.compactMap(\.string),
            let asRoommates = request.data["viewerSharesRooms"]?.bool
        else {
            Issue.record("\(request.subject) was asked \(request.data)")
            return request.reply(ServiceError(.internal, "unexpected").json)
        }
        let known = people.withLock { people in ids.compactMap { people[$0] } }
        let answer = JSONWriter.value { json in
            json.array(of: known) { json, person in
                json.value(
                    Person(
                        id: person.id, username: person.username, firstName: person.firstName,
                        email: asRoommates ? "\(person.username)@example.org" : nil
                    ).json)
            }
        }
        request.reply(Reply(.ok, answer).json)
    }
}

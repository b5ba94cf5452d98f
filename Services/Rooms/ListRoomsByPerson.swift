import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import Synchronization

extension RequestDescription {
    static let roomsByPerson = RequestDescription(
        "Lists the people with whom the caller shares rooms, most recent activity first, each with the rooms.",
        gives: Person.schema)
}

extension Rooms {
    /// The time limit for e-mail addresses, which are all that Accounts adds.
    private static let maxWait: Duration = .seconds(1)

    /// Lists rooms with their people: `{cursor?}` → `{rooms, people}`, a page like that of `listRooms`, and
    /// the other people in those rooms.
    func listRoomsByPerson(_ request: Request) async throws -> Reply {
        let callerID = try request.caller.id
        let page = try await database.read { try Self.pageOfRooms(request, of: .direct, on: $0) }
        var others: [String: Participant] = [:]
        for participant in page.items.flatMap(\.participants) where participant.userID != callerID {
            others[participant.userID] = participant
        }
        let emails = await emails(of: Array(others.keys), request.onward())
        let answer = JSONWriter.object(reservingCapacity: page.json.bytes.count * 2) { json in
            json.member("rooms", page.json)
            json.member(
                "people",
                array: { json in
                    for other in others.values {
                        let person = Person(
                            id: other.userID, username: other.username, firstName: other.firstName,
                            email: emails[other.userID])
                        json.object { person.write(to: &$0) }
                    }
                })
        }
        return Reply(.ok, answer, page: page.cursor)
    }

    /// Returns e-mail addresses by person; none while Accounts is unavailable, so that the list is returned
    /// without them.
    private func emails(of ids: [String], _ context: BusContext) async -> [String: String] {
        guard !ids.isEmpty, addresses.mayBeAsked(at: clock.now()) else { return [:] }
        var context = context
        let hasTime = context.timeout >= Self.maxWait
        context.timeout = min(context.timeout, Self.maxWait)
        do throws(ServiceError) {
            let found = try await people.people(ids, asRoommates: true, context)
            return Dictionary(found.compactMap { person in person.email.map { (person.id, $0) } }) { first, _ in first }
        } catch {
            // If the request had less time than `maxWait`, the timeout does not show that Accounts is down.
            if hasTime { addresses.pause(at: clock.now()) }
            return [:]
        }
    }
}

/// The times at which a list may ask for e-mail addresses.
final class AddressRequests: Sendable {
    /// The time for which Accounts is not asked again after it has not answered: a long list has several pages, one
    /// after the other, and the caller waits for all of them.
    static let pause: Duration = .seconds(2)

    private let pausedAt = Mutex<Timestamp?>(nil)

    func mayBeAsked(at now: Timestamp) -> Bool {
        guard let start = pausedAt.withLock({ $0 }) else { return true }
        // A clock that was set back ends the pause.
        return now < start || now >= start.adding(Self.pause)
    }

    func pause(at now: Timestamp) { pausedAt.withLock { $0 = now } }
}

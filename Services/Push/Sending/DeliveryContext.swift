import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import Synchronization

/// The information from other services that decides whether a job is sent, and its content.
struct DeliveryContext: Sendable {
    /// The limit of people and messages in one request to messaging.
    static let maxJobs = 64

    private static let maxWait: Duration = .seconds(2)
    /// The time limit for rooms' names, which are optional.
    private static let nameTimeout: Duration = .seconds(1)

    let bus: any MessageBus
    let gateways: LiveGateways
    private let unresponsive = Unavailable()

    struct Unread: Sendable {
        let total: Int
        /// The requested messages that are unread, by id.
        let messages: [String: UnreadMessage]
    }

    /// Returns unread messages by person.
    ///
    /// - Parameter jobs: at most `maxJobs`.
    /// - Throws: `ServiceError` if messaging does not reply.
    func unread(of jobs: [Job]) async throws(ServiceError) -> [String: Unread] {
        let byPerson = Dictionary(grouping: jobs, by: \.userID)
        let people = byPerson.keys.sorted()
        let messages = people.map { person in
            Set(byPerson[person, default: []].lazy.filter { !$0.isBadge }.map(\.messageID)).sorted()
        }
        let data = JSONWriter.object(reservingCapacity: 128 * jobs.count + 32) { json in
            json.name("people")
            json.array(of: zip(people, messages)) { json, asked in
                json.object {
                    $0.member("userId", asked.0)
                    $0.member("messageIds", asked.1)
                }
            }
        }
        let context = BusContext(requestID: "push-unread", timeout: Self.maxWait, isRepeatable: true)
        let reply = try await bus.ask(Subject.unread, data, context, of: "Messaging")
        guard let results = reply.data["people"]?.array, results.count == people.count else { throw .noReply }
        var found: [String: Unread] = [:]
        for ((person, ids), result) in zip(zip(people, messages), results) {
            guard let total = result["unread"]?.int, let states = result["messages"]?.array, states.count == ids.count
            else { throw .noReply }
            let unread = zip(ids, states).compactMap { id, state in UnreadMessage(state).map { (id, $0) } }
            found[person] = Unread(total: total, messages: Dictionary(unread) { first, _ in first })
        }
        return found
    }

    /// Returns names by room; none while the rooms service is unavailable.
    func names(of roomIDs: Set<String>) async -> [String: String] {
        guard !roomIDs.isEmpty, !unresponsive.contains(Subject.roomNames) else { return [:] }
        let ids = roomIDs.sorted()
        let data = JSONWriter.object { $0.member("roomIds", ids) }
        let context = BusContext(requestID: "push-names", timeout: Self.nameTimeout)
        do throws(ServiceError) {
            let names = try await bus.ask(Subject.roomNames, data, context, of: "Rooms").data["names"]?.array ?? []
            return zip(ids, names).reduce(into: [:]) { $0[$1.0] = $1.1.string }
        } catch {
            unresponsive.insert(Subject.roomNames)
            return [:]
        }
    }
}

extension DeliveryContext {
    /// Returns the sockets that have the message's room open: when each was last active, and what it has certainly
    /// received. Only for jobs of messages.
    func sockets(for jobs: [Job]) async -> [OpenRoomsRequest.Member: [SocketEvidence]] {
        await gateways.sockets(at: Array(Set(jobs.map(\.member))))
    }
}

extension Job {
    var member: OpenRoomsRequest.Member { OpenRoomsRequest.Member(roomID: roomID, userID: userID) }
}

/// The gateways and subjects that have not replied. They are not asked for a while, because waiting for them would
/// delay notifications for which everyone else has replied.
final class Unavailable: Sendable {
    private let pause: Duration
    private let until = Mutex<[String: ContinuousClock.Instant]>([:])

    init(for pause: Duration = .seconds(5)) { self.pause = pause }

    func contains(_ name: String) -> Bool { until.withLock { $0[name].map { $0 > .now } ?? false } }

    func insert(_ name: String) {
        until.withLock { until in
            until = until.filter { $0.value > .now }
            until[name] = .now + pause
        }
    }

    func removeAll() { until.withLock { $0 = [:] } }
}

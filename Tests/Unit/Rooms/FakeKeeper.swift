import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import Synchronization
import Testing

@testable import ParlorRooms

/// A keeper of records that confirms changes, or does not.
final class FakeKeeper: Sendable {
    private struct State {
        var isSilent = false
        var fence = 0
        var changes: [PeopleChange] = []
    }

    private let state = Mutex(State())
    private let subscription = Mutex<BusSubscription?>(nil)

    private let subject: String
    private let bus: any MessageBus

    init(_ subject: String, on bus: any MessageBus) throws {
        (self.subject, self.bus) = (subject, bus)
        try start()
    }

    func start() throws {
        let made = try bus.respond(to: subject, queue: "keeper") { [self] request in
            let fence = state.withLock { state -> Int? in
                guard let change = request.data["change"].flatMap(PeopleChange.init) else { return nil }
                state.changes.append(change)
                state.fence = max(state.fence, change.version)
                return state.isSilent ? nil : state.fence
            }
            let reply = fence.map { fence in Reply(.ok, JSONWriter.object { $0.member("fence", fence) }).json }
            request.reply(reply ?? ServiceError.unavailable("It").json)
        }
        subscription.withLock { $0 = made }
    }

    func stop() { subscription.withLock { $0.take() }?.cancel() }

    var changes: [PeopleChange] { state.withLock { $0.changes } }
    var fence: Int { state.withLock { $0.fence } }
    func be(silent: Bool) { state.withLock { $0.isSilent = silent } }
    func raiseFence(to version: Int) { state.withLock { $0.fence = version } }
}

extension RoomsHarness {
    /// Waits until keepers have confirmed all that they had missed, or are forgotten.
    func waitUntilNothingIsMissed() async throws {
        while try await database.read({ try !PendingChangesStore($0).keepersWithMissed().isEmpty }) {
            await Task.yield()
        }
    }

    /// Waits until a call has taken the place of one that removed a person and was answered with 503.
    func waitUntilRemovalIsResumed(in room: String) async throws {
        while try await database.read({
            try PendingChangesStore($0).pending(in: room)?.acts.contains(where: \.isUnanswered) == true
        }) { await Task.yield() }
    }

    func add(
        _ people: Caller..., to room: String, by caller: Caller, within timeout: Duration = .seconds(300)
    ) async throws -> Reply {
        let data = JSONWriter.object {
            $0.member("roomId", room)
            $0.member("userIds", people.map(\.id))
        }
        return try await ask("rooms.add", by: caller, data, timeout: timeout)
    }

    @discardableResult
    func remove(
        _ person: Caller, from room: String, by caller: Caller, within timeout: Duration = .seconds(300)
    ) async throws -> Reply {
        let data = JSONWriter.object {
            $0.member("roomId", room)
            $0.member("userId", person.id)
        }
        return try await ask("rooms.remove", by: caller, data, timeout: timeout)
    }

    /// Requests a record as a keeper.
    func record(of room: String, for keeper: String = "polls") async throws -> Membership {
        try #require(Membership(try await requestRecord(of: room, for: keeper).data))
    }

    func requestRecord(of room: String, for keeper: String = "polls") async throws -> Reply {
        try await ask("rooms.membership") {
            $0.member("roomId", room)
            $0.member("keeper", keeper)
        }
    }

    func people(of room: String, seenBy caller: Caller) async throws -> [String] {
        try await get(room, by: caller).data["participants"]?.array?.compactMap { $0["userId"]?.string } ?? []
    }
}

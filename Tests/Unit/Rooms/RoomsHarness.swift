import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import Testing

@testable import ParlorRooms

/// The service as others see it, with fakes of Accounts and Messaging.
struct RoomsHarness: SuiteHarness {
    let serviceHarness: ServiceHarness<RoomsService>
    let accounts: FakeAccounts
    /// Messaging's answer about who has written, and its requests.
    let messaging: FakeMessaging
    let alice = Caller(id: "00000000-0000-7000-8000-00000000000a", username: "alice", firstName: "Alice")
    let bob = Caller(id: "00000000-0000-7000-8000-00000000000b", username: "bob", firstName: nil)
    let carol = Caller(id: "00000000-0000-7000-8000-00000000000c", username: "carol", firstName: "Carol")

    /// The time for which a change that is not confirmed is waited for, of a request with a timeout of 60 s: a busy machine must
    /// not make the answer come too late.
    static let unconfirmedWait: Duration = .milliseconds(300)

    /// Runs the body while the service is on the bus.
    ///
    /// - Parameter settings: as flags.
    static func serving(
        _ settings: [String] = [], on database: (any Database)? = nil, bus: any MessageBus = InProcessBus(),
        patience: Duration = .milliseconds(200), _ body: (RoomsHarness) async throws -> Void
    ) async throws {
        let harness = try RoomsHarness(settings, on: database, bus: bus, patience)
        try await harness.serviceHarness.run { try await body(harness) }
    }

    private init(
        _ settings: [String], on database: (any Database)?, bus: any MessageBus, _ patience: Duration
    ) throws {
        serviceHarness = try ServiceHarness(settings, on: database, bus: bus) { context in
            // No test waits until the gateways of an earlier run are gone.
            let gateways = HeardGateways(
                GatewayMembership(context.bus, turn: .seconds(300)), context.bus, lease: .zero)
            return RoomsService(
                context, gateways: gateways, margin: .seconds(60) - Self.unconfirmedWait, patience: patience)
        }
        accounts = try FakeAccounts(on: serviceHarness.bus)
        messaging = try FakeMessaging(on: serviceHarness.bus)
        for person in [alice, bob, carol] { accounts.add(person) }
    }

    func create(
        _ caller: Caller, with other: Caller, name: String? = nil, clientRequestID: String? = nil
    ) async throws -> Reply {
        try await ask("rooms.create", by: caller) {
            $0.member("otherUserId", other.id)
            $0.member("name", name)
            $0.member("clientRequestId", clientRequestID)
        }
    }

    /// Creates a room, and returns its id.
    func room(_ caller: Caller, with other: Caller, name: String? = nil) async throws -> String {
        try await create(caller, with: other, name: name).roomID
    }

    func group(_ people: Caller...) async throws -> String { try await group(people) }

    /// Creates a group whose creator is the first of these people, and returns its id.
    func group(_ people: [Caller]) async throws -> String {
        try await ask("rooms.create", by: people[0]) {
            $0.member("participantIds", people.dropFirst().map(\.id))
        }.roomID
    }

    /// Publishes an operator's request to forget a service, and a gateway's report.
    func forget(_ service: String, _ outcome: ForgettingReport.Outcome) throws {
        try bus.publish(Subject.forgetService, OperatorRequest(id: "forget", service: service).json)
        let report = ForgettingReport(requestID: "forget", gateway: "g", instance: "i", outcome)
        try bus.publish(Subject.forgettingReports, report.json)
    }

    func get(_ roomID: String, by caller: Caller) async throws -> Reply {
        try await ask("rooms.get", by: caller) { $0.member("roomId", roomID) }
    }

    func rename(_ roomID: String, _ name: String, by caller: Caller) async throws -> Reply {
        try await ask("rooms.rename", by: caller) {
            $0.member("roomId", roomID)
            $0.member("name", name)
        }
    }

    func list(of caller: Caller, cursor: String? = nil) async throws -> Reply {
        try await ask("rooms.list", by: caller) { $0.member("cursor", cursor) }
    }

    func expectNothingHappened() async throws {
        #expect(try await list(of: alice).roomIDs.isEmpty)
        #expect(try await entries().isEmpty)
    }
}

extension Reply {
    var roomID: String {
        get throws { try #require(data["id"]?.string) }
    }

    /// Of the rooms in a list.
    var roomIDs: [String] { data.array?.compactMap { $0["id"]?.string } ?? [] }
}

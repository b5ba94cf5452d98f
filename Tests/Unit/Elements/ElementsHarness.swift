import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorServiceKitTesting
import Testing

@testable import ParlorElements

/// The service, with a rooms service that has the test's rooms.
struct ElementsHarness: SuiteHarness {
    let serviceHarness: ServiceHarness<ElementsService>

    /// Alice and Bob are in both; Carol is in neither.
    static let room = "room-1"
    static let otherRoom = "room-2"
    static let alice = "alice"
    static let bob = "bob"
    static let carol = "carol"

    /// Runs the body while the service is on the bus.
    ///
    /// - Parameter settings: as flags.
    static func serving(_ settings: [String] = [], _ body: (ElementsHarness) async throws -> Void) async throws {
        // Turns are the test's to take.
        let serviceHarness = try ServiceHarness<ElementsService>(settings) { context in
            ElementsService(context, gateways: GatewayMembership(context.bus, turn: .seconds(86_400)))
        }
        try serviceHarness.bus.serveRooms([room: [alice, bob], otherRoom: [alice, bob]])
        try await serviceHarness.run { try await body(ElementsHarness(serviceHarness: serviceHarness)) }
    }

    // MARK: Asking

    func ask(_ subject: String, _ data: JSONValue) async throws -> Reply { try await ask(subject, by: nil, data) }

    /// - Parameter json: the request as a client would write it, its `roomId` aside.
    func ask(
        _ subject: String, by userID: String = alice, in roomID: String = room, _ json: String = "{}"
    ) async throws -> Reply {
        try await ask(subject, by: Caller(userID), Self.request(json, in: roomID))
    }

    /// Returns the error that a request is refused with; nil if it succeeds.
    func refusal(
        _ subject: String, by userID: String = alice, in roomID: String = room, _ json: String = "{}"
    ) async throws -> ServiceError? {
        await refusal(subject, by: Caller(userID), try Self.request(json, in: roomID))
    }

    private static func request(_ json: String, in roomID: String) throws -> JSONValue {
        let fields = try JSONValue(parsing: json)
        return JSONWriter.object {
            $0.members(of: fields)
            $0.member("roomId", roomID)
        }
    }

    // MARK: The usual calls

    /// - Parameter members: those beside the type, with a comma before each.
    func create(by userID: String = alice, in roomID: String = room, _ members: String = "") async throws -> JSONObject
    {
        try #require(
            try await ask("elements.create", by: userID, in: roomID, #"{"type":"note"\#(members)}"#).data.object)
    }

    func list(in roomID: String = room) async throws -> [JSONValue] {
        try #require(try await ask("elements.list", in: roomID).data.array)
    }

    func presence(of userID: String, in roomID: String = room, on gateway: String, isOpen: Bool) async throws -> Reply {
        try await ask(
            "elements.presence",
            JSONWriter.object {
                $0.member("gateway", gateway)
                $0.member("isOpen", isOpen)
                $0.name("rooms")
                $0.array(of: [roomID]) { json, roomID in
                    json.object {
                        $0.member("roomId", roomID)
                        $0.member("userId", userID)
                    }
                }
            })
    }

    /// Returns a room's element count, badge and time of the last change, as one person sees them;
    /// nil if it has no board.
    func contribution(
        for userID: String, in roomID: String = room
    ) async throws -> (elementCount: Int?, badge: Int?, updatedAt: Int?)? {
        let reply = try await ask(
            "elements.contribute",
            JSONWriter.object {
                $0.member("userId", userID)
                $0.name("roomIds")
                $0.array(of: [roomID]) { $0.string($1) }
            })
        let rooms = try #require(reply.data["rooms"]?.array)
        guard let values = try #require(rooms.first).array else { return nil }
        #expect(values.count == ElementsService.contributedFields && values[1] == values[2])
        return (values[0].int, values[1].int, values[3].int)
    }

    func badge(of userID: String, in roomID: String = room) async throws -> Int {
        try await contribution(for: userID, in: roomID)?.badge ?? 0
    }

    /// Returns what `parlor verify` would print about a room and about people.
    func countedAgain(_ room: String = room) async throws -> [String] {
        try await database.read { connection in
            let ofRoom = try ElementsService.differences(
                in: room, members: [Self.alice, Self.bob], on: connection)
            return try (ofRoom + ElementsService.differencesOfPeople(on: connection)).map(\.text)
        }
    }
}

extension ElementsService {
    static let contributedFields = Elements.contribution.declaration.fields.count
}

extension JSONObject {
    func text(_ name: String) throws -> String { try #require(self[name]?.string) }
}

import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import Testing

@testable import ParlorMessaging

/// The service, with the test's rooms.
struct MessagingHarness: SuiteHarness {
    let serviceHarness: ServiceHarness<MessagingService>
    let database: CountedReads
    let rooms: FakeRooms

    /// Runs the body while the service is on the bus.
    ///
    /// - Parameter database: by default one that is empty.
    static func serving(
        on database: (any Database)? = nil, _ body: (MessagingHarness) async throws -> Void
    ) async throws {
        let harness = try MessagingHarness(
            on: database ?? SQLiteDatabase(.temporary, migrations: MessagingService.migrations))
        try await harness.serviceHarness.run { try await body(harness) }
    }

    private init(on database: any Database) throws {
        self.database = CountedReads(database)
        serviceHarness = try ServiceHarness(on: self.database)
        rooms = try FakeRooms(on: serviceHarness.bus)
    }

    func send(_ text: String = "hello", by person: String, in room: String, tempID: String? = nil) async throws -> Reply
    {
        try await ask("messaging.send", by: person) {
            $0.member("roomId", room)
            $0.member("text", text)
            if let tempID { $0.member("tempId", tempID) }
        }
    }

    /// Sends a message, and returns its id.
    func sent(_ text: String = "hello", by person: String, in room: String) async throws -> String {
        try #require(try await send(text, by: person, in: room).data["id"]?.string)
    }

    func delete(_ message: String, by person: String, in room: String) async throws -> Reply {
        try await ask("messaging.delete", by: person) {
            $0.member("roomId", room)
            $0.member("messageId", message)
        }
    }

    func read(_ messages: [String], by person: String, in room: String) async throws -> Reply {
        try await ask("messaging.read", by: person) {
            $0.member("roomId", room)
            $0.member("messageIds", array: { for id in messages { $0.string(id) } })
        }
    }

    /// The query as a gateway passes it on: as texts.
    func list(
        by person: String, in room: String, _ query: KeyValuePairs<String, String> = [:]
    ) async throws -> (messages: [JSONValue], next: String?) {
        let reply = try await ask("messaging.list", by: person) {
            $0.member("roomId", room)
            for (name, value) in query { $0.member(name, value) }
        }
        return (try #require(reply.data.array), try #require(reply.page).string)
    }

    func conversation(
        of person: String, with other: String, _ query: KeyValuePairs<String, String> = [:]
    ) async throws -> (messages: [JSONValue], next: String?) {
        let reply = try await ask("messaging.conversation", by: person) {
            $0.member("userId", other)
            for (name, value) in query { $0.member(name, value) }
        }
        return (try #require(reply.data.array), try #require(reply.page).string)
    }

    /// Returns what rooms show a person: for each room `[messagesUpdatedAt, lastMessage,
    /// badges.messages]`, or null.
    func contribution(to rooms: [String], for person: String) async throws -> [JSONValue] {
        let reply = try await ask("messaging.contribute", by: nil) {
            $0.member("userId", person)
            $0.member("roomIds", array: { for room in rooms { $0.string(room) } })
        }
        return try #require(reply.data["rooms"]?.array)
    }

    func unread(of person: String, in room: String) async throws -> Int? {
        try await contribution(to: [room], for: person).first?.array?[2].int
    }
}

extension [JSONValue] {
    func strings(_ name: String) -> [String?] { map { $0[name]?.string } }
    func ints(_ name: String) -> [Int?] { map { $0[name]?.int } }
}

import Contracts
import EventLog
import JSON
import MessageBus
import Reactor
import ServiceKit
import Storage
import Synchronization
import Testing
import Workers

@testable import Messaging

/// The service on a bus of its own, with a clock that the test moves and rooms that it makes.
struct MessagingWorld {
    let bus = InProcessBus()
    let clock = ManualClock()
    let database: CountedReads
    let rooms: FakeRooms
    private let entries = Entries()

    /// Runs the body while the service is on the bus.
    static func serving(_ body: (MessagingWorld) async throws -> Void) async throws {
        let world = try MessagingWorld()
        let workers = WorkerPool(threads: 1, maxWaiting: 8)
        let context = ServiceContext(
            configuration: try Configuration([], arguments: []), database: world.database, bus: world.bus,
            clock: world.clock, workers: workers, dataDirectory: "")
        let group = try EventLoopGroup(loopCount: 1)
        let host = ServiceHost(try MessagingService(context), context, on: group)
        try await host.start()
        do {
            try await body(world)
        } catch {
            Issue.record(error)
        }
        await host.stop(within: .seconds(1))
        await workers.close()
        group.shutdown()
    }

    private init() throws {
        database = CountedReads(try SQLiteDatabase(.temporary, migrations: MessagingService.migrations))
        rooms = try FakeRooms(on: bus)
        try bus.subscribe(Subject.log(of: "messaging")) { [entries] message in
            guard let entry = LogEntry(message.data) else {
                Issue.record("not an entry: \(message.data)")
                return
            }
            entries.append(entry)
        }
    }

    func ask(
        _ subject: String, by person: String?, _ write: (inout JSONWriter) -> Void = { _ in }
    ) async throws -> Reply {
        let caller = person.map { Caller(id: $0, username: $0, firstName: nil).json }
        let context = BusContext(requestID: "test", caller: caller)
        return try Reply(await bus.request(subject, JSONWriter.object(write), context))
    }

    /// Expects that a request is refused with this code; nil: that it is not.
    func expect(
        _ code: ErrorCode?, _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Reply
    ) async throws {
        let refused = try await refusal(body)
        #expect(refused == code, sourceLocation: location)
    }

    /// The code that a request is refused with.
    func refusal(_ body: () async throws -> Reply) async throws -> ErrorCode? {
        do {
            _ = try await body()
            return nil
        } catch let error as ServiceError {
            return error.code
        }
    }

    /// The entries told since the last call.
    func told() -> [LogEntry] { entries.takeAll() }

    // MARK: What clients do

    func send(_ text: String = "hello", by person: String, in room: String, tempID: String? = nil) async throws -> Reply
    {
        try await ask("messaging.send", by: person) {
            $0.member("roomId", room)
            $0.member("text", text)
            if let tempID { $0.member("tempId", tempID) }
        }
    }

    /// Sends, and gives back the message's id.
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

    /// What the rooms show a person: for each room `[messagesUpdatedAt, lastMessage, badges.messages]`, or null.
    func contribution(to rooms: [String], for person: String) async throws -> [JSONValue] {
        let reply = try await ask("messaging.contribute", by: nil) {
            $0.member("userId", person)
            $0.member("roomIds", array: { for room in rooms { $0.string(room) } })
        }
        return try #require(reply.data["rooms"]?.array)
    }

    func unread(of person: String, in room: String) async throws -> Int? {
        try await contribution(to: [room], for: person).first?.array?.last?.int
    }
}

/// Entries of the event log as they come by the bus.
private final class Entries: Sendable {
    private let entries = Mutex<[LogEntry]>([])

    func append(_ entry: LogEntry) { entries.withLock { $0.append(entry) } }

    func takeAll() -> [LogEntry] {
        entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
    }
}

extension [JSONValue] {
    func strings(_ name: String) -> [String?] { map { $0[name]?.string } }
    func ints(_ name: String) -> [Int?] { map { $0[name]?.int } }
}

import ParlorContracts
import ParlorElements
import ParlorEventLog
import ParlorJSON
import ParlorMessaging
import ParlorRooms
import ParlorServiceKit
import ParlorStorage
import TestClients

/// The contents of the databases after all writing has ended.
struct StoredState: Sendable {
    struct Message: Sendable {
        let id: String
        let roomID: String
        let seq: Int
        let senderID: String
        let isDeleted: Bool
        let tempID: String?
    }

    struct Element: Sendable {
        let roomID: String
        let content: String
        let version: Int
    }

    struct RoomEvent: Sendable {
        let key: EventKey
        /// The people who get it; nil for everybody who is in the room when it is sent or replayed.
        let people: Set<String>?

        init(_ emission: Emission, of entry: Entry) {
            key = EventKey(emission.event.utf8, emission.data)
            people = emission.isNarrow ? Set(entry.participants) : nil
        }
    }

    /// A pair of texts as a key.
    struct Pair: Hashable, Sendable {
        let a: String
        let b: String
    }

    var messages: [Message] = []
    /// The readers of each message.
    var receipts: [String: Set<String>] = [:]
    var elements: [String: Element] = [:]
    /// The element created with each key, by room, person and key.
    var elementKeys: [[String]: String] = [:]
    var createdRooms: [Pair: String] = [:]
    /// The room's events, by room.
    var chats: [String: [RoomEvent]] = [:]
    var boards: [String: [RoomEvent]] = [:]
    /// The events of who comes and goes, by group.
    var peopleEvents: [String: [RoomEvent]] = [:]
    /// The participants of each group.
    var groups: [String: Set<String>] = [:]
    var pendingChanges = 0
    /// The last message from before a person came, by room and person. As messaging knows it.
    var joinedAfter: [Pair: Int] = [:]
    /// The creator of each element, by room.
    var creators: [String: [String]] = [:]
    /// The direct rooms that each person was notified of as new.
    var newRooms: [String: [String]] = [:]

    // Stored counters.
    var elementCounts: [String: Int] = [:]
    var revisions: [String: Int] = [:]
    /// Unread messages, by room and person.
    var unread: [Pair: Int] = [:]
    var unseen: [Pair: Int] = [:]

    /// - Parameters:
    ///   - url: a PostgreSQL server; nil for the files in the folder.
    ///   - logs: the number of messaging's logs.
    static func read(from folder: String, or url: String?, _ logs: Int) async throws -> StoredState {
        func open<S: Service>(_ service: S.Type) throws -> any Database {
            guard let url else { return try SQLiteDatabase(.file("\(folder)/\(S.name).db"), migrations: S.migrations) }
            guard let server = PostgresURL(url) else { throw ClientError("\(url) is no URL of a PostgreSQL database") }
            var configuration = DatabaseConfiguration()
            if S.mayHaveSeveralLogs { configuration.logCount = logs }
            return try PostgresDatabase(
                server, schema: S.name, migrations: S.migrations, configuration: configuration)
        }
        var books = StoredState()
        let rooms = try open(RoomsService.self)
        try await books.readRooms(rooms)
        await rooms.close()
        let messaging = try open(MessagingService.self)
        try await books.readMessaging(messaging)
        await messaging.close()
        let elements = try open(ElementsService.self)
        try await books.readElements(elements)
        await elements.close()
        return books
    }

    // MARK: Rows

    private mutating func readRooms(_ database: any Database) async throws {
        createdRooms = try await database.read { connection in
            let rows = try connection.all("SELECT created_by, client_request_id, room_id FROM creations") {
                (Pair(a: $0.text(0), b: $0.text(1)), $0.text(2))
            }
            return Dictionary(uniqueKeysWithValues: rows)
        }
        let people = try await database.read { connection in
            try connection.all(
                "SELECT room_id, person_id FROM participants JOIN rooms ON rooms.id = room_id WHERE kind = 'group'"
            ) { ($0.text(0), $0.text(1)) }
        }
        for (room, person) in people { groups[room, default: []].insert(person) }
        pendingChanges = try await database.read { try $0.all("SELECT 1 FROM pending_changes") { $0.int(0) }.count }
        for entry in try await Self.entries(of: database) {
            for emission in entry.emissions {
                switch emission.audience {
                case .person(let id)
                where emission.event == "room:created" && emission.data["kind"]?.string == "direct":
                    newRooms[id, default: []].append(entry.roomID)
                case .room where emission.event.hasPrefix("participant:"):
                    peopleEvents[entry.roomID, default: []].append(RoomEvent(emission, of: entry))
                default: break
                }
            }
        }
    }

    private mutating func readMessaging(_ database: any Database) async throws {
        messages = try await database.read { connection in
            try connection.all(
                """
                SELECT id, room_id, seq, sender_id, text IS NULL, temp_id
                FROM messages JOIN chats ON chats.number = messages.room ORDER BY room_id, seq
                """
            ) {
                Message(
                    id: $0.id(0), roomID: $0.text(1), seq: $0.int(2), senderID: $0.id(3), isDeleted: $0.bool(4),
                    tempID: $0.idOrNil(5))
            }
        }
        let reads = try await database.read { connection in
            try connection.all("SELECT message_id, user_id FROM receipts") { ($0.id(0), $0.id(1)) }
        }
        for (message, reader) in reads { receipts[message, default: []].insert(reader) }
        let counts = try await database.read { connection in
            try connection.all(
                """
                SELECT room_id, user_id, shown - settled, joined_seq
                FROM members JOIN chats ON chats.number = members.room
                """
            ) { (Pair(a: $0.text(0), b: $0.id(1)), unread: $0.int(2), joinedAfter: $0.int(3)) }
        }
        for (key, count, seq) in counts {
            unread[key] = count
            joinedAfter[key] = seq
        }
        for entry in try await Self.entries(of: database) {
            for emission in entry.emissions where emission.audience == .room {
                chats[entry.roomID, default: []].append(RoomEvent(emission, of: entry))
            }
        }
    }

    private mutating func readElements(_ database: any Database) async throws {
        elements = try await database.read { connection in
            let rows = try connection.all("SELECT id, room_id, content, version FROM elements") {
                ($0.text(0), Element(roomID: $0.text(1), content: $0.text(2), version: $0.int(3)))
            }
            return Dictionary(uniqueKeysWithValues: rows)
        }
        elementKeys = try await database.read { connection in
            let rows = try connection.all("SELECT room_id, sender_id, temp_id, element_id FROM temp_ids") {
                ([$0.text(0), $0.text(1), $0.text(2)], $0.text(3))
            }
            return Dictionary(uniqueKeysWithValues: rows)
        }
        unseen = try await Self.pairs("SELECT room_id, user_id, count FROM unseen", of: database)
        for (key, count) in try await Self.pairs("SELECT room_id, '', element_count FROM boards", of: database) {
            elementCounts[key.a] = count
        }
        for (key, count) in try await Self.pairs("SELECT room_id, '', rev FROM boards", of: database) {
            revisions[key.a] = count
        }
        for entry in try await Self.entries(of: database) {
            for emission in entry.emissions where emission.audience == .room {
                boards[entry.roomID, default: []].append(RoomEvent(emission, of: entry))
                if emission.event == "element:created", let id = emission.data["element"]?["createdBy"]?.string {
                    creators[entry.roomID, default: []].append(id)
                }
            }
        }
    }

    private static func pairs(_ sql: String, of database: any Database) async throws -> [Pair: Int] {
        try await database.read { connection in
            Dictionary(
                uniqueKeysWithValues: try connection.all(sql) { (Pair(a: $0.text(0), b: $0.text(1)), $0.int(2)) })
        }
    }

    // MARK: The event logs

    struct Entry {
        let roomID: String
        let participants: [String]
        let emissions: [Emission]
    }

    private static func entries(of database: any Database) async throws -> [Entry] {
        var all: [Entry] = []
        for number in database.logs { all += try await entries(of: EventLog(database, log: number)) }
        return all
    }

    private static func entries(of log: EventLog) async throws -> [Entry] {
        var all: [Entry] = []
        var seq = 0
        while true {
            let page = try await log.entries(since: seq, limit: 5000)
            guard let last = page.last else { return all }
            seq = last.seq
            all += page.map { Entry(roomID: $0.roomID, participants: $0.participants, emissions: $0.emissions) }
        }
    }
}

import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport
import Synchronization

/// A service with notes, whose log others follow.
struct NotesService: Service {
    static let name = "notes"
    static let migrations = [
        Migration(version: 1, name: "notes", sql: "CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL)")
    ]
    private let context: ServiceContext

    init(_ context: ServiceContext) { self.context = context }

    func register(in requests: inout RequestTable) {
        requests.onSnapshot(Endpoint(Subject.snapshot(of: Self.logID)), of: context.database) {
            after, limit, connection in
            try connection.all("SELECT id, text FROM notes WHERE id > $1 ORDER BY id LIMIT $2", after, limit) {
                SnapshotItem(id: $0.text(0), json: NotesService.note($0.text(0), $0.text(1)))
            }
        }
    }

    /// Writes a note, or deletes it if the text is nil, with its entry.
    func write(_ id: String, _ text: String?) async throws {
        try await context.database.write { [now = context.clock.now()] connection in
            try connection.execute("DELETE FROM notes WHERE id = $1", id)
            if let text { try connection.execute("INSERT INTO notes (id, text) VALUES ($1, $2)", id, text) }
            let emission = Emission(to: .everyone, text == nil ? "note:gone" : "note:here", Self.note(id, text ?? ""))
            try EventLog.append(at: now, roomID: "", participants: [], emissions: [emission], on: connection)
        }
    }

    func notes() async throws -> [String] {
        try await context.database.read {
            try $0.all("SELECT id, text FROM notes ORDER BY id") { "\($0.text(0))=\($0.text(1))" }
        }
    }

    private static func note(_ id: String, _ text: String) -> JSONValue {
        JSONWriter.object {
            $0.member("id", id)
            $0.member("text", text)
        }
    }
}

/// A service that keeps a copy of all notes, and the numbers of the entries that it has taken.
struct IndexService: Service {
    static let name = "index"
    static let migrations = [
        Migration(
            version: 1, name: "index",
            sql: """
                CREATE TABLE copies (id TEXT PRIMARY KEY, text TEXT NOT NULL);
                CREATE TABLE taken (place INTEGER PRIMARY KEY, seq INTEGER NOT NULL)
                """),
        LogPositionsStore.migration(version: 2),
    ]
    static let peer = BusPeer.service(name, follows: [NotesService.logID])
    let follower: DurableFollower<NotesIndex>

    init(_ context: ServiceContext) { self.init(context, NotesIndex(context)) }

    init(_ context: ServiceContext, _ index: NotesIndex) {
        follower = DurableFollower(NotesService.logID, for: Self.self, context, index)
    }

    func register(in requests: inout RequestTable) {}
    func stop() async { await follower.stop() }
}

final class NotesIndex: LogConsumer {
    struct Refusal: Error {}

    let begins = Collector<BeginReason>()
    let commits = Collector<Void>()
    /// An item for each time that `wantsEntries` was called.
    let questions = Collector<Void>()
    /// Whether lost entries are replaced by a snapshot.
    let readsSnapshots = Atomic(true)
    /// Runs after each page of a snapshot.
    let onPage = Mutex<(@Sendable () async throws -> Void)?>(nil)
    /// What `begin` returns, in place of what it should.
    let place = Mutex<LogPosition?>(nil)
    /// The text with which an entry is refused.
    let refused = Mutex<String?>(nil)
    let isIdle = Atomic(false)
    /// Whether entries change nothing.
    let isIndifferent = Atomic(false)
    private let database: any Database

    init(_ context: ServiceContext) { database = context.database }

    func begin(_ log: FollowedLog, because reason: BeginReason) async throws -> LogPosition {
        begins.add(reason)
        if let place = place.withLock({ $0 }) { return place }
        let isWhole = reason == .first && log.isWhole
        guard !isWhole, readsSnapshots.load(ordering: .relaxed) else {
            return reason == .replaced ? log.head : log.beginning
        }
        try await database.write { _ = try $0.execute("DELETE FROM copies") }
        return try await log.forEachSnapshotPage { page in
            try await database.write { connection in for item in page.items { try Self.copy(item, connection) } }
            try await onPage.withLock { $0 }?()
        }
    }

    func take(_ entries: [LogEntry], on connection: any Connection) throws {
        for entry in entries {
            try connection.execute("INSERT INTO taken (seq) VALUES ($1)", entry.seq)
            for emission in entry.emissions {
                if let refused = refused.withLock({ $0 }), emission.data["text"]?.string == refused { throw Refusal() }
                if emission.event == "note:here" {
                    try Self.copy(emission.data, connection)
                } else {
                    try connection.execute("DELETE FROM copies WHERE id = $1", emission.data["id"]?.string)
                }
            }
        }
    }

    func taken() { commits.add(()) }
    func wantsEntries() async throws -> Bool {
        questions.add(())
        return !isIdle.load(ordering: .relaxed)
    }
    func needsWrite(for entries: [LogEntry]) async throws -> Bool { !isIndifferent.load(ordering: .relaxed) }

    private static func copy(_ note: JSONValue, _ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO copies (id, text) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET text = excluded.text
            """, note["id"]?.string, note["text"]?.string)
    }
}

/// Notes, and an index that is added later, on one bus.
struct FollowingHarness {
    let bus = InProcessBus()
    let notes: ServiceHarness<NotesService>
    let index: ServiceHarness<IndexService>

    /// - Parameter database: that of the notes; by default in memory.
    static func run(
        on database: (any Database)? = nil, _ body: (FollowingHarness) async throws -> Void
    ) async throws {
        let harness = try FollowingHarness(database)
        try await harness.notes.run {
            try await harness.index.run { try await body(harness) }
        }
    }

    private init(_ database: (any Database)?) throws {
        notes = try ServiceHarness(on: database, bus: bus)
        index = try ServiceHarness(bus: bus)
    }

    var consumer: NotesIndex { index.service.follower.consumer }

    func write(_ numbers: ClosedRange<Int>, _ text: String = "text") async throws {
        for number in numbers { try await notes.service.write("note-\(1000 + number)", text) }
    }

    /// Deletes the log's entries before this one, as after a day.
    func prune(before seq: Int) async throws {
        try await notes.context.database.write { _ = try $0.execute("DELETE FROM events WHERE seq < $1", seq) }
    }

    /// Reads the log to its end, as a process does that has just started.
    func follow(_ follower: DurableFollower<NotesIndex>? = nil) async throws {
        let follower = follower ?? index.service.follower
        var (position, isBehind) = try await follower.only.step(from: nil)
        while isBehind { (position, isBehind) = try await follower.only.step(from: position, after: 1) }
    }

    /// The numbers of the entries that were taken, in the order in which they were.
    func taken() async throws -> [Int] {
        try await index.context.database.read { try $0.all("SELECT seq FROM taken ORDER BY place") { $0.int(0) } }
    }

    func copies() async throws -> [String] {
        try await index.context.database.read {
            try $0.all("SELECT id, text FROM copies ORDER BY id") { "\($0.text(0))=\($0.text(1))" }
        }
    }

    func storedSeq() async throws -> Int? {
        try await index.context.database.read { try LogPositionsStore($0).position(in: NotesService.logID)?.seq }
    }
}

import Foundation
import ParlorClient
import ParlorReactor
import TestClients

/// A minute of an app on a real server: its person has many rooms, and others send messages into the one that is open.
/// Then the messages that arrive at once after a reconnect, and those that a room has when it is opened.
@MainActor
struct ClientMinute {
    nonisolated static let standardRooms = 500
    static let messages = 500

    private let server: URL
    private let load: MinuteLoad
    private let roomCount: Int
    private let length: Duration

    /// The newest messages, which a screen shows.
    private static let visible = 12
    /// The time after which a state counts as never reached.
    private static let maxWait: Duration = .seconds(60)
    private static let pollInterval: Duration = .milliseconds(5)
    /// What a start still has to write and to fetch is done after this.
    private static let rest: Duration = .seconds(3)
    /// The target for 500 messages that arrive at once.
    private static let targetVersions = 20

    init(fixture: Fixture, rooms roomCount: Int, length: Duration) throws(ClientError) {
        guard let server = URL(string: "http://\(fixture.server.name)") else { throw ClientError("no address") }
        self.server = server
        self.roomCount = roomCount
        self.length = length
        load = MinuteLoad(fixture, rooms: roomCount)
    }

    /// The state of all counters at one moment.
    private struct Reading {
        var writes = FolderWatch.Writes()
        var traffic = CountedNetwork.Traffic()
        var jobs = 0
        var wakeUps = 0
        var conversation = 0
        var list = 0
        var processor = 0.0
        var time = LoopInstant.now()
    }

    /// The app: its client, its open room, and two screens.
    @MainActor
    private final class App {
        let client: RoomsClient
        let network: CountedNetwork
        let disk: FolderWatch
        let list: VersionCount
        /// How often the measurement has looked for a state, each time by a job of its own.
        private var looks = 0
        private var opened: OpenRoom?
        var conversation: Conversation? { opened?.conversation }
        private var screen: VersionCount?
        private var earlierVersions = 0

        init(_ server: URL, _ person: TestClients.Person, folder: URL) {
            network = CountedNetwork(to: server)
            disk = FolderWatch(folder.path)
            let client = RoomsClient(
                server: server, user: .init(id: person.id, username: person.id), tokens: GivenToken(text: person.token),
                http: network, sockets: network, folder: folder)
            self.client = client
            list = VersionCount { _ = (client.rooms.rooms, client.rooms.isLoading, client.connection) }
        }

        func open(_ room: String) async throws {
            let opened = try await client.open(roomID: room)
            let conversation = opened.conversation
            self.opened = opened
            screen = VersionCount { [weak conversation] in
                guard let conversation else { return }
                _ = (conversation.items, conversation.isLoading, conversation.typistIDs, conversation.failure)
            } drawn: { [weak conversation] in
                // A screen reports the rows that appear.
                guard let conversation else { return }
                conversation.noteVisible(conversation.items.suffix(ClientMinute.visible))
            }
        }

        func close() async {
            guard let opened else { return }
            await opened.closeAndKeep()
            earlierVersions += screen?.count ?? 0
            (self.opened, screen) = (nil, nil)
        }

        /// Whether the open room shows the message with this number, and is in step with the server.
        func shows(_ seq: Int) -> Bool {
            guard let conversation, conversation.isVerified, !conversation.isLoading else { return false }
            return conversation.items.last?.seq == seq
        }

        func until(_ what: String, _ condition: () -> Bool) async throws {
            let end = LoopInstant.now() + ClientMinute.maxWait
            while !condition() {
                guard LoopInstant.now() < end else { throw ClientError("\(what): not within \(ClientMinute.maxWait)") }
                try await Task.sleep(for: ClientMinute.pollInterval)
                looks += 1
            }
        }

        var reading: Reading {
            var reading = Reading()
            reading.writes = disk.writes
            reading.traffic = network.traffic
            reading.conversation = earlierVersions + (screen?.count ?? 0)
            reading.list = list.count
            // Each version that is counted is a job of the counter's own.
            let (jobs, wakeUps) = CountingMainExecutor.counts
            reading.wakeUps = wakeUps
            reading.jobs = jobs - looks - reading.conversation - reading.list
            var usage = rusage()
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            reading.processor =
                Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
                + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
            return reading
        }
    }

    func measure() async throws -> [Row] {
        guard CountingMainExecutor.install() else { throw ClientError("the main actor's jobs cannot be counted") }
        let house = try await load.furnish()
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary one
        let app = App(server, house.caller, folder: folder)
        await app.client.start()
        try await app.until("all rooms are shown") {
            app.client.rooms.isLoaded && app.client.rooms.rooms.count == roomCount
        }
        try await app.open(house.room)
        // The room has one message from before.
        var newest = 1
        try await app.until("the room is shown") { app.shows(newest) }
        try await Task.sleep(for: Self.rest)

        let idle = try await measure(app, "client: ten idle seconds with \(roomCount) rooms") {
            try await Task.sleep(for: .seconds(10))
            return 0
        }
        newest += Self.messages
        let minute = try await measure(
            app, "client: a minute with \(roomCount) rooms, \(Self.messages) messages arrive in the open one"
        ) {
            let used = try await load.send(Self.messages, over: length)
            try await app.until("all of them are shown") { app.shows(newest) }
            return used
        }

        await app.client.stop()
        newest += Self.messages
        _ = try await load.send(Self.messages, over: .zero)
        let back = try await measure(
            app, "client: \(Self.messages) messages at once after a reconnect, room open", true
        ) {
            await app.client.start()
            try await app.until("what was missed is shown") { app.shows(newest) }
            return 0
        }
        try await Task.sleep(for: Self.rest)

        await app.close()
        newest += Self.messages
        _ = try await load.send(Self.messages, over: .zero)
        try await Task.sleep(for: Self.rest)
        let opened = try await measure(app, "client: a room with \(Self.messages) missed messages is opened", true) {
            try await app.open(house.room)
            try await app.until("the newest message is shown") { app.shows(newest) }
            return 0
        }
        await app.close()
        await app.client.stop()
        return [idle, minute, back, opened]
    }

    /// - Parameters:
    ///   - isAtOnce: true for work that is over when the state is reached; the row has the time that it took.
    ///   - work: returns the processor time of others in this process, in seconds.
    private func measure(
        _ app: App, _ name: String, _ isAtOnce: Bool = false, _ work: () async throws -> Double
    ) async throws -> Row {
        let before = app.reading
        let others = try await work()
        let reached = LoopInstant.now()
        // What the client writes and requests in the next seconds belongs to the work.
        if isAtOnce { try await Task.sleep(for: Self.rest) }
        let after = app.reading
        var figures = [
            Figure("bytes written", after.writes.bytes - before.writes.bytes),
            Figure("file writes", after.writes.files - before.writes.files),
            Figure("HTTP requests", after.traffic.requests - before.traffic.requests),
            Figure("frames in", after.traffic.received - before.traffic.received),
            Figure("frames out", after.traffic.sent - before.traffic.sent),
            Figure("main-actor jobs", after.jobs - before.jobs),
            Figure("wake-ups", after.wakeUps - before.wakeUps),
            Figure("versions of the conversation", after.conversation - before.conversation),
            Figure("versions of the list", after.list - before.list),
            Figure("processor", (after.processor - before.processor - others) * 1000, .milliseconds),
        ]
        if isAtOnce {
            figures.append(Figure("shown after", (reached - before.time) / .milliseconds(1), .milliseconds))
            figures.append(Figure("target of versions", Self.targetVersions))
        }
        return Row(name: name, figures: figures)
    }
}

import ParlorJSON
import ParlorReactor
import TestClients

/// Clients that reconnect within one second, as after a deployment or an outage: each gets what it
/// missed, joins a room and lists its rooms, while two people who stayed write to each other.
///
/// With `Kind.new`, the clients are new and have missed nothing.
actor ReturnStorm {
    enum Kind {
        case returning
        case new
    }

    private let clientCount: Int
    private let kind: Kind
    private let fixture: Fixture
    private let loop: EventLoop
    private var clients: [ReturningClient] = []
    private var begun = 0
    private var left: Int
    private var start = LoopInstant.now()
    private var latencies = Latencies()
    private var failures: [ClientError] = []
    private var isOver: (() -> Void)?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The number of people. Registering is slow on purpose, so each has many sockets.
    private static let people = 200
    /// People form a ring. Each shares a room with so many neighbours on either side.
    private static let neighbours = 5
    /// The time over which the clients begin to connect.
    private static let spread: Duration = .seconds(1)
    private static let tick: Duration = .milliseconds(5)
    /// The time after which a client counts as lost.
    private static let maxWait: Duration = .seconds(60)
    /// The number of connections for lists.
    private static let listConnections = 64
    /// The descriptors of the process beside the clients.
    private static let otherDescriptors = 256

    init(_ clientCount: Int, _ kind: Kind, of server: ServerAddress, on loop: EventLoop) {
        self.clientCount = clientCount
        self.kind = kind
        self.loop = loop
        left = clientCount
        fixture = Fixture(server: server, loop: loop)
    }

    func measure() async throws(ClientError) -> Row {
        let descriptors = DescriptorLimit.raise()
        guard descriptors >= clientCount + Self.otherDescriptors else {
            throw ClientError("\(clientCount) clients need more than the \(descriptors) descriptors of `ulimit -Hn`")
        }
        clients = try await furnish()
        let survivors = try await SteadySends.meet(in: fixture)
        let lists = try await HTTPPool(Self.listConnections, in: fixture)
        let before = try await ServerCounters.soFar(in: fixture)

        survivors.start()
        await comeBack(using: lists)
        let seconds = (LoopInstant.now() - start) / .seconds(1)
        let work = try await ServerCounters.soFar(in: fixture) - before
        try await survivors.stop()
        defer {
            for client in clients { client.close() }
            lists.close()
        }
        return Row(
            name:
                "\(clientCount) clients of \(Self.people) people \(kind == .new ? "connect" : "return") within a second",
            figures: [
                Figure("all joined and listed", seconds * 1000, .milliseconds),
                Figure("clients", Double(clientCount) / seconds, .perSecond),
            ] + latencies.figures(named: "a client's ") + survivors.latencies.figures(named: "survivors' ack ")
                + [
                    Figure("survivors' sends", survivors.sent),
                    Figure("message:new replayed", clients.reduce(0) { $0 + $1.replayed }),
                ]
                + [
                    work.figure("database reads a client", "parlor_database_reads_total", per: clientCount),
                    work.figure("snapshots a client", "parlor_database_snapshots_total", per: clientCount),
                ].compactMap(\.self),
            faults: faults + survivors.faults)
    }

    private var faults: [String] {
        var found: [String] = []
        if let first = failures.first { found.append("\(failures.count) did not come back: \(first)") }
        if left > 0 { found.append("\(left) were not back after \(Self.maxWait)") }
        let lost = clients.reduce(0) { $0 + $1.lost }
        let doubled = clients.reduce(0) { $0 + $1.doubled }
        if lost > 0 { found.append("\(lost) lost") }
        if doubled > 0 { found.append("\(doubled) doubled") }
        return found
    }

    /// Creates people and rooms, gives every client a cursor, and then sends what they miss: a
    /// message to each room.
    private func furnish() async throws(ClientError) -> [ReturningClient] {
        let people = try await fixture.register(Self.people)
        let pairs = people.indices.flatMap { index in
            (1...Self.neighbours).map { (index, (index + $0) % people.count) }
        }
        let rooms = try await fixture.data(
            of: pairs.map { owner, other in
                let body = JSONWriter.object { $0.member("otherUserId", people[other].id) }
                return HTTPCall("POST", "/api/rooms", token: people[owner].token, body: body)
            }
        ).map { $0["id"]?.string ?? "" }
        let cursors = try await fixture.data(of: people.map { HTTPCall("GET", "/api/sync", token: $0.token) })
            .map { kind == .new ? nil : $0["cursor"]?.string ?? "" }
        let messages = try await fixture.data(
            of: zip(pairs, rooms).map { pair, room in
                let body = JSONWriter.object { $0.member("text", "This is what you missed.") }
                return HTTPCall("POST", "/api/rooms/\(room)/messages", token: people[pair.0].token, body: body)
            }
        ).map { $0["id"]?.string ?? "" }

        var roomsOf = [[String]](repeating: [], count: people.count)
        var missedBy = [Set<String>](repeating: [], count: people.count)
        for (pair, (room, message)) in zip(pairs, zip(rooms, messages)) {
            for index in [pair.0, pair.1] {
                roomsOf[index].append(room)
                missedBy[index].insert(message)
            }
        }
        return (0..<clientCount).map { number in
            let index = number % people.count
            return ReturningClient(
                people[index], since: cursors[index], rooms: roomsOf[index],
                room: roomsOf[index][number / people.count % roomsOf[index].count],
                missed: kind == .new ? [] : missedBy[index])
        }
    }

    // MARK: - The storm

    /// Reconnects all clients; returns when all are connected, or have failed.
    private func comeBack(using lists: HTTPPool) async {
        start = LoopInstant.now()
        let timer = loop.schedule(after: Self.maxWait) { [self] in finish() }
        await withCheckedContinuation { continuation in
            isOver = { continuation.resume() }
            beginThoseDue(lists)
        }
        timer.cancel()
    }

    private func beginThoseDue(_ lists: HTTPPool) {
        let share = min((LoopInstant.now() - start) / Self.spread, 1)
        while begun < Int(share * Double(clientCount)) {
            let client = clients[begun]
            begun += 1
            Task { await bringBack(client, lists) }
        }
        guard begun < clientCount else { return }
        loop.schedule(after: Self.tick) { [self] in beginThoseDue(lists) }
    }

    private func bringBack(_ client: ReturningClient, _ lists: HTTPPool) async {
        let began = LoopInstant.now()
        do throws(ClientError) {
            try await client.comeBack(to: fixture, within: Self.maxWait, using: lists)
            latencies.record(since: began)
        } catch {
            failures.append(error)
        }
        left -= 1
        if left == 0 { finish() }
    }

    private func finish() {
        isOver?()
        isOver = nil
    }
}

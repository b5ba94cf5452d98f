import Glibc
import ParlorReactor
import ParlorTestSupport
import TestClients

/// The drill: processes, clients and faults, then the audit.
actor Drill {
    private let options: DrillOptions
    private nonisolated let loop: EventLoop
    private let fleet: Fleet
    private let cluster: Cluster
    private let data: String
    private var clients: [SimulatedClient] = []
    private var owners: [GroupOwner] = []
    private var under: [Task<Void, any Error>] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The concurrent actions of each client, and its longest pause between two.
    private static let lanes = 3
    private static let pause: Duration = .milliseconds(250)
    /// The longest pause of a group's owner.
    private static let pauseOfOwners: Duration = .milliseconds(1000)
    /// People who never open their rooms: their badges only rise.
    private static let absentees = 4
    /// A file size below that of any database and its log, so that nothing can be appended.
    private static let fullDisk = 16 * 1024
    /// The time limit for everything to settle once the faults have ended.
    private static let settleLimit: Duration = .seconds(40)

    init(_ options: DrillOptions, on group: EventLoopGroup) throws {
        self.options = options
        loop = group.loops[0]
        let binaries = options.binaries ?? Self.ownFolder
        data = try Self.makeFolder(options.data, beside: binaries)
        fleet = Fleet(instances: options.instances)
        cluster = try Cluster(
            .init(
                fleet: fleet, builds: [binaries] + (options.upgrade.map { [$0] } ?? []), data: data, bus: options.bus,
                databaseURL: options.databaseURL, logs: options.logs), on: group)
    }

    /// - Returns: whether all checks passed.
    func run() async throws -> Bool {
        let length = Duration.milliseconds(Int(options.minutes * 60_000))
        let schedule = Schedule(seed: options.seed, length: length, of: fleet, kinds: options.faultKinds)
        Terminal.print("parlor-drill: seed \(options.seed), \(options.minutes) min, data in \(data)")
        try await cluster.start()
        let participants = try await Participants.make(
            clients: options.clients, absentees: Self.absentees, groups: options.groups, cluster: cluster, on: loop)
        clients = participants.clients
        owners = participants.owners
        for client in clients { await client.connect() }
        try await waitUntilSettled(within: Self.settleLimit)
        for (index, client) in clients.enumerated() {
            await client.work(lanes: Self.lanes, pause: Self.pause, seed: options.seed &+ UInt64(index * 1000))
        }
        for (index, owner) in owners.enumerated() {
            await owner.work(pause: Self.pauseOfOwners, seed: options.seed &+ UInt64(index))
        }
        try await inject(schedule, for: length)
        let isQuiet = await settle()
        let shown = isQuiet ? await participants.shownRooms(of: cluster, on: loop) : [:]
        for client in clients { await client.close() }
        try await cluster.stop()

        let books = try await StoredState.read(from: data, or: options.databaseURL, options.logs)
        var logs: [String: ClientLog] = [:]
        for client in clients { logs[client.person.id] = await client.log }
        let audit = Audit(books: books, logs: logs, participants: await participants.roles, shown: shown)
        var report = audit.report
        for owner in owners { report.add(await owner.log, books) }
        report.add(participants.removals)
        report.faults += await cluster.faults
        if !isQuiet { report.faults.append("not all came to rest within \(Self.settleLimit)") }
        report.kills = await cluster.kills
        report.crashes = await cluster.crashes
        Terminal.print(report.text(seed: options.seed, minutes: options.minutes))
        if report.faults.isEmpty, options.data == nil {
            try await remove(data)
        } else {
            Terminal.print("databases and logs: \(data)")
        }
        return report.faults.isEmpty
    }

    // MARK: Faults

    private func inject(_ schedule: Schedule, for length: Duration) async throws {
        let start = LoopInstant.now()
        await cluster.beginFaults(at: start)
        for item in schedule.items {
            try await sleep(until: start + item.at)
            Terminal.print("\(item.at.minutesText)  \(item.injected)")
            // Lasting faults run beside the others.
            under.append(Task { try await inject(item.injected) })
        }
        try await sleep(until: start + length)
        for injected in under { try await injected.value }
    }

    private func inject(_ injected: InjectedFault) async throws {
        switch injected {
        case .kill(let name, let down, let point): _ = await cluster.kill(name, downFor: down, crashPoint: point)
        case .freeze(let name, let time):
            guard let process = await cluster.freeze(name) else { return }
            try await Task.sleep(for: time)
            await cluster.thaw(name, process)
        case .condition(let name, let condition, let time):
            await cluster.setCondition(condition, of: name)
            try await Task.sleep(for: time)
            await cluster.setCondition(.clear, of: name)
        case .cut(let name): await cluster.cut(name)
        case .fullDisk(let name, let time):
            guard let process = await cluster.process(of: name) else { return }
            try await cluster.limitFiles(of: process, to: Self.fullDisk)
            try await Task.sleep(for: time)
            try await cluster.limitFiles(of: process, to: nil)
        case .databaseLoss(let name): try await cluster.endDatabaseConnections(of: name)
        case .clock(let name, let offset): await cluster.stepClock(of: name, to: offset)
        case .everyoneReconnects: for client in clients { await client.hangUp() }
        case .rollingRestart:
            for name in fleet.all { try await cluster.replace(name, within: .seconds(8)) }
        }
    }

    private func sleep(until time: LoopInstant) async throws {
        let left = time - .now()
        if left > .zero { try await Task.sleep(for: left) }
    }

    // MARK: Rest

    private func waitUntilSettled(within limit: Duration) async throws {
        let end = LoopInstant.now() + limit
        for client in clients { try await waitUntil(end) { await client.isSettled } }
    }

    private func waitUntil(_ end: LoopInstant, _ isTrue: () async -> Bool) async throws {
        while await !isTrue() {
            guard LoopInstant.now() < end else { throw ClientError("not all came to rest in time") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Ends all faults, finishes the work in progress, and waits until all clients have received
    /// everything.
    ///
    /// - Returns: false if that takes too long.
    private func settle() async -> Bool {
        await cluster.heal()
        let end = LoopInstant.now() + Self.settleLimit
        do {
            try await cluster.waitUntilReady(within: Self.settleLimit)
            for owner in owners { await owner.finish() }
            for client in clients { await client.finish() }
            for owner in owners { try await waitUntil(end) { await !owner.isBusy } }
            for client in clients { try await waitUntil(end) { await !client.isBusy } }
            // If the bus loses an event, any later one reveals the gap. The lost event then arrives
            // within a quarter of a second.
            for client in clients { await client.sendToAllRooms("the end") }
            try await Task.sleep(for: .seconds(2))
            try await waitUntilSettled(within: Self.settleLimit)
            return true
        } catch {
            return false
        }
    }

    // MARK: Folders

    private static var ownFolder: String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count)
        let text = String(decoding: path.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.lastIndex(of: "/").map { String(text[..<$0]) } ?? "."
    }

    /// Creates the folder on the project's disk: /tmp may be in memory, where nothing is ever
    /// synced.
    private static func makeFolder(_ given: String?, beside binaries: String) throws -> String {
        if let given {
            guard mkdir(given, 0o700) == 0 else {
                throw ClientError("\(given) must not exist yet; the drill creates it")
            }
            return given
        }
        var template = Array("\(binaries)/drill-data.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw ClientError("no folder can be made in \(binaries)") }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private func remove(_ folder: String) async throws {
        let process = try ChildProcess(["rm", "-rf", folder], output: "/dev/null", log: "/dev/null")
        while process.end() == nil { try await Task.sleep(for: .milliseconds(20)) }
    }
}

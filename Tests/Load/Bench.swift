import Glibc
import ParlorReactor
import TestClients

/// The load generator. Its clients and measurements share one loop, and with it one thread. Only the rows `client` and
/// `minute` run on the main actor.
actor Bench {
    private let options: BenchOptions
    private let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ options: BenchOptions, on loop: EventLoop) {
        self.options = options
        self.loop = loop
    }

    /// Runs the measurements one after the other, each in rooms of its own.
    ///
    /// - Parameter report: called with each row as soon as it is measured.
    /// - Throws: `ClientError` if the server does not answer as the contract says, so that nothing
    ///   can be measured. Lost and doubled events are faults of their row instead.
    func run(report: (Row) -> Void) async throws -> [Row] {
        Terminal.print(CommandLine.arguments.joined(separator: " "))
        let fixture = Fixture(server: options.server, loop: loop)
        var rows: [Row] = []
        for measurement in options.measurements {
            let made = try await rounds(of: measurement, fixture)
            made.forEach(report)
            rows += made
        }
        return rows
    }

    /// Runs a row three times in the short form, and takes the medians; some rows have medians of their own. The
    /// row `minute` runs three times in the long form, too.
    private func rounds(of measurement: BenchOptions.Measurement, _ fixture: Fixture) async throws -> [Row] {
        var rounds = [try await rows(of: measurement, fixture)]
        if options.isShort ? measurement != .bus && measurement != .start : measurement == .minute {
            for _ in 1..<Self.roundsOfMedian { rounds.append(try await rows(of: measurement, fixture)) }
        }
        return rounds[0].indices.map { index in Row(medianOf: rounds.map { $0[index] }) }
    }

    private static let roundsOfMedian = 3

    private func rows(of measurement: BenchOptions.Measurement, _ fixture: Fixture) async throws -> [Row] {
        switch measurement {
        case .myRooms:
            let found = try await MyRooms(fixture: fixture, roomCount: options.rooms, seconds: options.seconds)
                .measure()
            guard let floor = options.floor else { return found }
            let least = try FloorRoundTrip.median(floor)
            return found.map { $0.comparing("p50", to: least, as: "p50 to the floor's round trip") }
        case .send:
            let alone = SendAlone(fixture: fixture, sends: options.sends, syncFolder: options.syncFolder)
            return [try await alone.measure()]
        case .throughput:
            let load = SendTogether.Load(
                senders: options.senders, inFlight: options.inFlight, seconds: options.seconds,
                listeners: options.listeners)
            return [try await SendTogether(fixture: fixture, load: load, syncFolder: options.syncFolder).measure()]
        case .sqlite:
            let folder = try Self.given(options.syncFolder, "sqlite", "--fsync-dir")
            return try await SQLiteAlone(folder: folder, seconds: options.seconds).measure()
        case .postgres:
            let address = try Self.given(options.database, "postgres", "--database")
            return try await PostgresAlone(address: address, seconds: options.seconds).measure()
        case .returning:
            return [try await ReturnStorm(options.clients, .returning, of: options.server, on: loop).measure()]
        case .connect:
            return [try await ReturnStorm(options.clients, .new, of: options.server, on: loop).measure()]
        case .fanOut: return try await fanOut(fixture)
        case .joined:
            let floor = try Self.given(options.floor, "joined", "--floor")
            var rows: [Row] = []
            for inFlight in [8, 64] {
                rows.append(
                    try await JoinedRoom(fixture: fixture, floor: floor, inFlight: inFlight, seconds: options.seconds)
                        .measure())
            }
            return rows
        case .push:
            let log = try Self.given(options.notificationLog, "push", "--push-log")
            return [
                try await PushDrain(fixture: fixture, logPath: log, notifications: options.notifications).measure()
            ]
        case .bus:
            let bus = try Self.given(options.bus, "bus", "--bus")
            return try BusBesideNATS(bus: bus, nats: options.nats, seconds: options.seconds).measure()
        case .start:
            let start = Start(
                program: try program("start"), messages: options.messages(in: .start), loop: loop)
            return [try await start.measure()]
        case .growth: return try await growth()
        case .groups:
            let process = try Self.given(options.serverProcess, "groups", "--server-pid")
            return try await Groups(
                fixture: fixture, server: ServerProcesses(startedBy: process), dataFolder: options.syncFolder
            ).measure()
        case .client: return try await ClientStores().measure()
        case .minute:
            let minute = try await ClientMinute(
                fixture: fixture, rooms: options.clientRooms, length: .seconds(options.clientSeconds))
            return try await minute.measure()
        }
    }

    private func fanOut(_ fixture: Fixture) async throws -> [Row] {
        let floor = try Self.given(options.floor, "fanout", "--floor")
        var rows: [Row] = []
        for (sockets, inFlight) in options.isShort ? [(1000, 8)] : [(1000, 8), (10_000, 4)] {
            let load = FanOut.Load(sockets: sockets, inFlight: inFlight, seconds: options.seconds)
            let fanOut = FanOut(fixture: fixture, floor: floor, serverProcess: options.serverProcess, load: load)
            rows.append(try await fanOut.measure())
        }
        return rows
    }

    private func growth() async throws -> [Row] {
        let program = try program("growth")
        let floor = try Self.given(options.floor, "growth", "--floor")
        let process = try Self.given(options.floorProcess, "growth", "--floor-pid")
        let sends = GrowthOfSends(program: program, messages: options.messages(in: .growth), loop: loop)
        let lists = GrowthOfLists(program: program, loop: loop)
        let crowds = GrowthOfAudiences(
            program: program, floor: floor, floorProcess: process, seconds: options.seconds, loop: loop)
        return [try await sends.measure(), try await lists.measure(), try await crowds.measure()]
    }

    private func program(_ row: String) throws(ClientError) -> OwnServer.Program {
        OwnServer.Program(
            path: try Self.given(options.parlor, row, "--parlor"), core: options.parlorCore,
            folder: try Self.given(options.scratchFolder, row, "--scratch"))
    }

    private static func given<T>(_ value: T?, _ row: String, _ flag: String) throws(ClientError) -> T {
        guard let value else { throw ClientError("\(row) needs \(flag); deploy/bench gives it") }
        return value
    }
}

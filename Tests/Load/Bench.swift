import Glibc
import Reactor
import TestClients

/// The load: every client and every measurement lives on one loop, and so on one thread.
actor Bench {
    private let options: BenchOptions
    private let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ options: BenchOptions, on loop: EventLoop) {
        self.options = options
        self.loop = loop
    }

    /// Makes the rows one after the other, each in rooms of its own.
    ///
    /// - Parameter report: called with each row as soon as it is there.
    /// - Throws: `ClientError` if the server does not answer as the contract says, so that nothing can be measured. What
    ///   was lost or came twice is a fault of its row instead.
    func run(report: (Row) -> Void) async throws -> [Row] {
        Terminal.print(CommandLine.arguments.joined(separator: " "))
        let world = World(server: options.server, loop: loop)
        var rows: [Row] = []
        func take(_ made: [Row]) {
            made.forEach(report)
            rows += made
        }
        if options.includes(.myRooms) {
            take(try await MyRooms(world: world, roomCount: options.rooms, seconds: options.seconds).measure())
        }
        if options.includes(.send) {
            take([try await SendAlone(world: world, sends: options.sends, syncFolder: options.syncFolder).measure()])
        }
        if options.includes(.throughput) {
            let load = SendTogether.Load(
                senders: options.senders, inFlight: options.inFlight, seconds: options.seconds)
            take([try await SendTogether(world: world, load: load).measure()])
        }
        if options.includes(.returning) {
            take([try await ReturnStorm(options.clients, of: options.server, on: loop).measure()])
        }
        if options.includes(.fanOut) {
            guard let floor = options.floor else { throw ClientError("fanout needs --floor; deploy/bench gives it") }
            for (sockets, inFlight) in [(1000, 8), (10_000, 4)] {
                let load = FanOut.Load(sockets: sockets, inFlight: inFlight, seconds: options.seconds)
                let fanOut = FanOut(world: world, floor: floor, serverProcess: options.serverProcess, load: load)
                take([try await fanOut.measure()])
            }
        }
        if options.includes(.push) {
            guard let log = options.notificationLog else {
                throw ClientError("push needs --push-log; deploy/bench gives it")
            }
            let drain = PushDrain(world: world, logPath: log, notifications: options.notifications)
            take([try await drain.measure()])
        }
        if options.includes(.client) { take(try await ClientStores().measure()) }
        return rows
    }
}

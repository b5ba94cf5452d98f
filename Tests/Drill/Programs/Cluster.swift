import Glibc
import ParlorJSON
import ParlorReactor
import ParlorTestSupport
import TestClients

/// All executables as separate processes, each with the bus behind a proxy. A process that ends is
/// started again; `Cluster+Faults` injects faults.
actor Cluster {
    struct Member {
        var process: ChildProcess?
        /// The address in its ready line.
        var address: String?
        var isFrozen = false
        /// Whether its end is intended: it was killed, stopped, or kills itself at a crash point.
        var isDoomed = false
        var crashPoint: String?
        var restart: (at: LoopInstant, crashPoint: String?)?
    }

    struct Settings: Sendable {
        let fleet: Fleet
        /// Folders of executables, from which each program is started in turn.
        let builds: [String]
        let data: String
        let bus: BusKind
        /// The PostgreSQL server; nil for files in the data folder.
        let databaseURL: String?
        let logs: Int
    }

    var kills = 0
    private(set) var crashes = 0
    /// Processes that ended unintentionally.
    var faults: [String] = []
    /// The time since which the gateway serves, or serves again.
    var gatewayUpSince = LoopInstant(nanoseconds: 0)
    /// The time from which the schedule's times count.
    private(set) var faultsBeganAt = LoopInstant.now()

    let settings: Settings
    private nonisolated let loop: EventLoop
    let proxies: [ProgramName: (proxy: BusProxy, address: String)]
    var members: [ProgramName: Member] = [:]
    /// Helper processes that change something, and have to be awaited.
    var helpers: [ChildProcess] = []
    private var starts: [ProgramName: Int] = [:]
    private var isClosing = false
    private var watching: Task<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The interval at which processes are checked.
    static let interval: Duration = .milliseconds(10)

    init(_ settings: Settings, on group: EventLoopGroup) throws {
        self.settings = settings
        loop = group.loops[0]
        var proxies: [ProgramName: (proxy: BusProxy, address: String)] = [:]
        for name in settings.fleet.onBus { proxies[name] = try BusProxy.start(scheme: settings.bus.scheme, on: group) }
        self.proxies = proxies
    }

    // MARK: Starting

    /// Starts all programs, and returns when they are ready.
    func start() async throws {
        for name in settings.fleet.all { stepClock(of: name, to: .zero) }
        for name in settings.fleet.all { try launch(name) }
        watching = Task {
            while !Task.isCancelled {
                watch()
                try? await Task.sleep(for: Self.interval)  // cancelled: the loop ends
            }
        }
        try await waitUntilReady(within: .seconds(20))
    }

    func beginFaults(at time: LoopInstant) { faultsBeganAt = time }

    func waitUntilReady(within limit: Duration) async throws {
        let end = LoopInstant.now() + limit
        while !settings.fleet.all.allSatisfy({ members[$0]?.address != nil }) {
            guard LoopInstant.now() < end else {
                let missing = settings.fleet.all.filter { members[$0]?.address == nil }.map(\.description)
                throw ClientError("not ready after \(limit): \(missing.joined(separator: ", "))")
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    private func launch(_ name: ProgramName, crashPoint: String? = nil) throws {
        if name == .bus, settings.bus == .nats { return try launchNATS() }
        var flags: [String] = []
        switch name.service {
        case "bus": flags = ["--port", "0"]  // builds to upgrade from do not know --bus-port
        case "gateway": flags = ["--port", "0", "--rate-limits", "off"]
        case "rooms": flags = ["--rate-limits", "off"]
        case "accounts": flags = ["--token-lifetime", "1d"]
        case "messaging" where settings.logs > 1: flags = ["--logs", "\(settings.logs)"]
        default: break
        }
        if let proxy = proxies[name] { flags += ["--bus", proxy.address, "--data", settings.data] }
        let build = settings.builds[starts[name, default: 0] % settings.builds.count]
        starts[name, default: 0] += 1
        let process = try ChildProcess(
            ["\(build)/\(name.executable)"] + flags + ["--loops", "1"],
            environment: [
                "LOG_FORMAT": "json", "TESTING": "on", "CRASH_AT": crashPoint ?? "",
                "CLOCK_OFFSET_FILE": clockPath(of: name), "DATABASE_URL": settings.databaseURL ?? "",
            ],
            output: outputPath(of: name), log: "\(settings.data)/\(name).log")
        members[name] = Member(process: process, isDoomed: crashPoint != nil, crashPoint: crashPoint)
    }

    private func launchNATS() throws {
        let process = try ChildProcess(
            ["nats-server", "--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir", settings.data],
            output: outputPath(of: .bus), log: "\(settings.data)/nats-server.log")
        members[.bus] = Member(process: process)
    }

    func clockPath(of name: ProgramName) -> String { "\(settings.data)/\(name).clock" }

    private func outputPath(of name: ProgramName) -> String { "\(settings.data)/\(name).out" }

    // MARK: Watching

    private func watch() {
        helpers.removeAll { $0.end() != nil }
        for name in settings.fleet.all {
            guard let member = members[name] else { continue }
            if let end = member.process?.end() {
                ended(name, end)
            } else if member.process != nil, member.address == nil {
                if let address = readyAddress(of: name) { ready(name, at: address) }
            } else if let restart = member.restart, restart.at <= .now(), !isClosing {
                do {
                    try launch(name, crashPoint: restart.crashPoint)
                } catch {
                    faults.append("\(error)")
                }
            }
        }
    }

    private func readyAddress(of name: ProgramName) -> String? {
        if name == .bus, settings.bus == .nats, let id = members[.bus]?.process?.id {
            // {"nats":["nats://127.0.0.1:4222"]}
            let ports = Self.start(ofFile: "\(settings.data)/nats-server_\(id).ports")
            return ports.flatMap { try? JSONValue(parsing: $0) }?["nats"]?.array?.first?.string
        }
        guard let line = Self.start(ofFile: outputPath(of: name)), line.hasSuffix("\n") else { return nil }
        return line.split(whereSeparator: \.isWhitespace).last.map(String.init)
    }

    private static func start(ofFile path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private func ready(_ name: ProgramName, at address: String) {
        members[name]?.address = address
        switch name {
        case .bus:
            let port = address.split(separator: ":").last.flatMap { UInt16($0) }
            leadProxies(to: port)
        case .gateway: gatewayUpSince = .now()
        default: break
        }
    }

    private func leadProxies(to port: UInt16?) {
        for (proxy, _) in proxies.values { proxy.assumeIsolated { $0.lead(to: port) } }
    }

    private func ended(_ name: ProgramName, _ end: ChildProcess.End) {
        guard let member = members[name] else { return }
        if name == .bus { leadProxies(to: nil) }
        if let point = member.crashPoint, end == .signal(SIGKILL), member.restart == nil {
            crashes += 1
            Terminal.print("        \(name) killed itself \(point)")
        } else if !member.isDoomed || (member.crashPoint != nil && end != .signal(SIGKILL) && member.restart == nil) {
            faults.append("\(name) ended \(end) by itself")
        }
        let restart = member.restart ?? (at: LoopInstant.now() + .milliseconds(100), crashPoint: nil)
        members[name] = Member(restart: restart)
    }

    // MARK: What clients need

    /// The gateway's address; nil while there is none.
    var gatewayAddress: ServerAddress? { members[.gateway]?.address.flatMap { ServerAddress(url: $0) } }

    /// Whether the gateway has been up all the time.
    func hasLived(since time: LoopInstant) -> Bool {
        members[.gateway]?.address != nil && members[.gateway]?.isFrozen == false && gatewayUpSince < time
    }

    // MARK: The end

    /// Clears the network of all programs, and continues the frozen ones.
    func heal() {
        for name in settings.fleet.onBus { setCondition(.clear, of: name) }
        for name in settings.fleet.all where members[name]?.isFrozen == true {
            if let process = members[name]?.process { thaw(name, process) }
        }
    }

    /// Stops all processes, the gateway first and the bus last.
    func stop() async throws {
        isClosing = true
        for name in settings.fleet.all.reversed() {
            members[name]?.isDoomed = true
            // A process that never reached its crash point is stopped.
            members[name]?.crashPoint = nil
            members[name]?.process?.signal(SIGTERM)
            let end = LoopInstant.now() + .seconds(8)
            while members[name]?.process != nil {
                if LoopInstant.now() > end {
                    faults.append("\(name) does not stop")
                    members[name]?.process?.signal(SIGKILL)
                }
                try await Task.sleep(for: Self.interval)
            }
        }
        watching?.cancel()
    }
}

import Glibc
import ParlorContracts
import ParlorLogging
import ParlorMessageBus
import ParlorReactor
import ParlorSecurity

/// An executable: reads its settings, starts its components in order, reports readiness, and stops
/// them in reverse order on SIGTERM or SIGINT.
///
/// If its first argument is a command's name, it runs that and exits with its status. Otherwise the
/// exit status is 0 after a signal, even if the time to stop ran out; 1 if it could not start or
/// run; 2 for invalid settings.
public struct Program: Sendable {
    public enum BusChoice: Sendable {
        /// The bus within this process, which contains all parts.
        case inProcess
        /// The bus of the setting `BUS_URL`.
        case configured
        /// No bus, as the program is the bus.
        case none
    }

    private struct Started: Sendable {
        let components: [any Component]
        let bus: any MessageBus
        let busAddress: String
    }

    private let name: String
    private let summary: String
    private let bus: BusChoice
    private let components: [ComponentFactory]
    private let commands: [Command]

    /// The settings that every program has.
    public static let settings: [any AnySetting] = [
        Setting.logLevel, Setting.logFormat, Setting.loops, Setting.testing, Setting.clockOffsetFile,
    ]

    /// The time limit for stopping. Process managers send SIGKILL after about ten seconds.
    static let stopDeadline: Duration = .milliseconds(4500)

    /// The time limit for the last lines of the log if no one reads them.
    static let logDeadline: Duration = .milliseconds(500)

    public init(
        _ name: String, _ summary: String, bus: BusChoice = .configured, _ components: [ComponentFactory],
        commands: [Command] = []
    ) {
        self.name = name
        self.summary = summary
        self.bus = bus
        self.components = components
        self.commands = commands + components.flatMap(\.commands)
    }

    public func run() async -> Never {
        // At exit, threads may still be ending, and must not find libcrypto's memory freed.
        Libcrypto.outlivesExit()
        let arguments = Array(CommandLine.arguments.dropFirst())
        // All peers that would be on the bus if the parts were separate programs, and those of commands.
        let peers = components.compactMap(\.peer) + commands.compactMap(\.peer)
        let commands = commands + (peers.isEmpty ? [] : [.busPeers(BusPeer.once(peers))])
        if let command = commands.first(where: { $0.name == arguments.first }) {
            exit(
                await command.run(program: name, arguments: Array(arguments.dropFirst()), environment: Self.environment)
            )
        }
        var settings: [any AnySetting] = []
        if case .configured = bus { settings += [Setting.bus, Setting.busTokenFile] as [any AnySetting] }
        do throws(ConfigurationError) {
            for setting in components.flatMap(\.settings) + Self.settings { try settings.add(setting) }
            let configuration = try Configuration(
                settings, arguments: arguments, environment: Self.environment)
            await run(configuration)
        } catch {
            if case .inquiry(let inquiry) = error {
                let lines = commands.map { ($0.name, "\($0.summary.split(separator: "\n").first ?? "")") }
                Self.write(
                    inquiry.answer(program: name, summary: summary, settings, commands: lines), to: STDOUT_FILENO)
                exit(0)
            }
            Self.write("\(name): \(error)", to: STDERR_FILENO)
            exit(2)
        }
    }

    private func run(_ configuration: Configuration) async -> Never {
        let output = LogWriter(STDERR_FILENO) { [name] count, sink in
            Logger(name, configuration: configuration, sink: sink).warning("lines were dropped", ["count": count])
        }
        let log = Logger(name, configuration: configuration) { output.write($0) }
        do {
            DescriptorLimit.raise()
            // A file that may not grow must cause an error for its writer, and not end the process: space may
            // become available.
            signal(SIGXFSZ, SIG_IGN)
            // So does a pipe that nobody reads any more, such as that of the notifications on standard output.
            signal(SIGPIPE, SIG_IGN)
            let signals = try TerminationSignals()
            log.info("starting", ["version": Release.version])
            let group = try EventLoopGroup(loopCount: configuration[.loops] ?? EventLoopGroup.availableProcessors)
            let running = Task { try await start(configuration, log, output, group) }
            Task {
                await signals.wait()
                await stop(running, log, output)
            }
            do {
                let started = try await running.value
                let address = started.components.compactMap(\.address).last ?? started.busAddress
                Self.write("\(name) ready \(address)", to: STDOUT_FILENO)
            } catch  where running.isCancelled {
                // Stopped before it served; this is not a failure.
            }
            // `stop` ends the process.
            while true { try await Task.sleep(for: .seconds(86_400)) }
        } catch let error as ConfigurationError {
            await fail("\(error)", status: 2, output)
        } catch {
            await fail("\(error)", status: 1, output)
        }
    }

    private func start(
        _ configuration: Configuration, _ log: Logger, _ output: LogWriter, _ group: EventLoopGroup
    ) async throws -> Started {
        let (bus, address) = try await connect(configuration, log, group)
        let node = Node(
            configuration: configuration, bus: bus, isBusShared: isBusShared, group: group,
            clock: try Self.clock(configuration), log: log, services: Set(components.compactMap(\.service)))
        node.metrics.gauge("parlor_build_info", "The running version.", labels: ["version": Release.version]) { 1 }
        node.metrics.watchProcess()
        node.metrics.counter("log_lines_dropped_total", "Log lines dropped because the sink was too slow.") {
            output.dropped
        }
        var running: [any Component] = []
        for component in components {
            if let started = try await component.start(node, running) { running.append(started) }
        }
        running.append(try StatusReporter.start(for: running, in: node))
        return Started(components: running, bus: bus, busAddress: address)
    }

    private var isBusShared: Bool {
        if case .inProcess = bus { false } else { true }
    }

    private func connect(
        _ configuration: Configuration, _ log: Logger, _ group: EventLoopGroup
    ) async throws -> (any MessageBus, String) {
        guard case .configured = bus else { return (InProcessBus(), "") }
        // Used in the log and the ready line, where no password may appear.
        let address = "\(configuration[.bus])"
        let bus = try await configuration.connectBus(name: name, on: group.loops[0]) { warning in
            log.warning("waiting for the bus", ["bus": address, "reason": warning])
        }
        return (bus, address)
    }

    private static func clock(_ configuration: Configuration) throws(ConfigurationError) -> any WallClock {
        guard let path = configuration[.clockOffsetFile] else { return SystemClock() }
        guard let clock = SteppedClock(file: path) else {
            throw .malformed("CLOCK_OFFSET_FILE: \(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        return clock
    }

    private func stop(_ starting: Task<Started, any Error>, _ log: Logger, _ output: LogWriter) async -> Never {
        log.info("stopping")
        Task {
            try? await Task.sleep(for: Self.stopDeadline)  // never cancelled
            log.warning("stopped before all was finished")
            await output.close(within: Self.logDeadline)
            exit(0)
        }
        // A start that still waits for its bus has nothing to finish.
        starting.cancel()
        if let started = try? await starting.value {
            for component in started.components.reversed() { await component.stop(within: .seconds(3)) }
            await started.bus.close()
        }
        log.info("stopped")
        await output.close(within: Self.logDeadline)
        exit(0)
    }

    private func fail(_ reason: String, status: Int32, _ output: LogWriter) async -> Never {
        // The last line is the reason, as components that have started may continue to log.
        await output.close(with: Array("\(name): \(reason)\n".utf8), within: Self.logDeadline)
        exit(status)
    }

    /// Writes a line at once, without a buffer, because another program may wait for it at a pipe.
    package static func write(_ line: String, to descriptor: Int32) {
        let bytes = Array("\(line)\n".utf8)
        // A failure here cannot be reported.
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// The id of this process: the host's name and the process's id.
    package static let instance: String = {
        var names = utsname()
        guard uname(&names) == 0 else { return "?/\(getpid())" }
        let host = withUnsafeBytes(of: names.nodename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return "\(host)/\(getpid())"
    }()

    private static var environment: [String: String] {
        var found: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { found[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return found
    }
}

import Glibc
import ParlorReactor
import ParlorTestSupport

extension Cluster {
    /// - Parameter crashPoint: the point at which its successor kills itself.
    /// - Returns: false if there is nothing to kill, because it is being started.
    func kill(_ name: ProgramName, downFor time: Duration, crashPoint: String? = nil) -> Bool {
        guard let process = members[name]?.process, members[name]?.restart == nil else { return false }
        members[name]?.isDoomed = true
        members[name]?.restart = (at: LoopInstant.now() + time, crashPoint: crashPoint)
        process.signal(SIGKILL)
        kills += 1
        return true
    }

    func freeze(_ name: ProgramName) -> ChildProcess? {
        guard let process = members[name]?.process else { return nil }
        process.signal(SIGSTOP)
        members[name]?.isFrozen = true
        return process
    }

    func thaw(_ name: ProgramName, _ process: ChildProcess) {
        // Another process may have replaced it.
        guard members[name]?.process?.id == process.id else { return }
        process.signal(SIGCONT)
        members[name]?.isFrozen = false
        if name == .gateway { gatewayUpSince = .now() }
    }

    func process(of name: ProgramName) -> ChildProcess? { members[name]?.process }

    func setCondition(_ condition: BusProxy.NetworkCondition, of name: ProgramName) {
        proxies[name]?.proxy.assumeIsolated { $0.change(to: condition) }
    }

    /// - Parameter offset: the offset from the system's time.
    func stepClock(of name: ProgramName, to offset: Duration) {
        guard let file = fopen(clockPath(of: name), "w") else { return faults.append("no clock for \(name)") }
        fputs("\(Int(offset / .milliseconds(1)))\n", file)
        fclose(file)
    }

    /// - Parameter bytes: the highest file size; nil for no limit.
    func limitFiles(of process: ChildProcess, to bytes: Int?) throws {
        // `:` leaves the hard limit as it is.
        let limit = "--fsize=\(bytes.map(String.init) ?? "unlimited"):"
        helpers.append(
            try ChildProcess(
                ["prlimit", "--pid", "\(process.id)", limit], output: "/dev/null", log: "\(settings.data)/prlimit.log"))
    }

    /// Ends a service's connections to its database, as an administrator may.
    func endDatabaseConnections(of name: ProgramName) throws {
        guard let url = settings.databaseURL else { return }
        let sql = """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parlor-\(name.service)'
            """
        helpers.append(
            try ChildProcess(["psql", "-qtX", "-c", sql, url], output: "/dev/null", log: "\(settings.data)/psql.log"))
    }

    func cut(_ name: ProgramName) { proxies[name]?.proxy.assumeIsolated { $0.cut() } }

    /// Stops a program, and waits for its successor.
    func replace(_ name: ProgramName, within limit: Duration) async throws {
        guard let process = members[name]?.process, members[name]?.restart == nil else { return }
        members[name]?.isDoomed = true
        members[name]?.restart = (at: .now(), crashPoint: nil)
        process.signal(SIGTERM)
        let end = LoopInstant.now() + limit
        while members[name]?.process?.id == process.id || members[name]?.address == nil {
            guard LoopInstant.now() < end else {
                if members[name]?.process?.id == process.id { faults.append("\(name) does not stop") }
                return
            }
            try await Task.sleep(for: Self.interval)
        }
    }
}

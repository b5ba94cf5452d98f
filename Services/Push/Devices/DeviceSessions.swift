import Contracts
import EventLog
import JSON
import MessageBus
import Reactor
import ServiceKit
import Storage
import Synchronization

/// Removes devices whose session has ended: by signing out, by revocation, by a refresh token that came again, or in time.
///
/// Ends come from the log of the service that has the sessions, each once. What ended before the log was followed, or without an entry
/// as an expired session does, is asked for: at each start of the log, once an hour, and for a session that has just registered a
/// device. Several instances on one database do so side by side, which does no harm.
final class DeviceSessions: Sendable {
    static let stream = "accounts"
    /// How late an entry may come that the bus has lost.
    private static let lookInterval: Duration = .seconds(2)
    private static let sweepInterval: Duration = .seconds(3600)
    /// Sessions that are asked for at once.
    private static let batch = 500

    private struct State {
        var ended: [String] = []
        var unchecked: [String] = []
        var isSweepDue = true
        var follower: LogFollower?
    }

    private let database: any Database
    private let bus: any MessageBus
    private let log: Logger
    private let client: LogClient
    private let wakeSignal = AsyncSignal()
    private let state = Mutex(State())

    init(database: any Database, bus: any MessageBus, log: Logger) {
        self.database = database
        self.bus = bus
        self.log = log
        client = LogClient(bus, requestID: "push-sessions", owner: "Accounts")
    }

    /// A device was registered in this session.
    func check(_ sessionID: String) {
        state.withLock { $0.unchecked.append(sessionID) }
        wakeSignal.signal()
    }

    // MARK: Following

    func listen(on loop: EventLoop) throws(BusError) {
        let follower = LogFollower(
            Self.stream, bus: bus, on: loop, log: log, deliver: { [weak self] in self?.take($0) },
            onStart: { [weak self] _ in self?.sweepSoon() })
        try follower.start()
        state.withLock { $0.follower = follower }
    }

    func stopListening() { state.withLock { $0.follower }?.stop() }

    func take(_ entries: [LogEntry]) {
        let ids = entries.flatMap { $0.emissions.compactMap(SessionsEnded.init).flatMap(\.sessionIDs) }
        guard !ids.isEmpty else { return }
        state.withLock { $0.ended += ids }
        wakeSignal.signal()
    }

    private func sweepSoon() {
        state.withLock { $0.isSweepDue = true }
        wakeSignal.signal()
    }

    // MARK: Working

    /// Until the task is cancelled.
    func run() async {
        var failure = RepeatedFailure()
        var sweptAt = ContinuousClock.now
        while !Task.isCancelled {
            if sweptAt + Self.sweepInterval <= .now { state.withLock { $0.isSweepDue = true } }
            do {
                // It has the follower notice an entry that the bus has lost.
                let head = try await client.page(of: Self.stream, .head).head
                state.withLock { $0.follower }?.announced(head)
                if try await step() { sweptAt = .now }
                if failure.end() { log.info("ended sessions are followed again") }
            } catch {
                if failure.note("\(error)") {
                    log.warning("devices of ended sessions cannot be removed now", ["error": "\(error)"])
                }
            }
            await wakeSignal.wait(atMost: Self.lookInterval)
        }
    }

    /// Removes what is known to have ended, and asks for what is not known. After a failure it is all still to be done.
    ///
    /// - Returns: whether all sessions were asked for.
    @discardableResult
    func step() async throws -> Bool {
        let work = state.withLock { state in
            defer { (state.ended, state.unchecked, state.isSweepDue) = ([], [], false) }
            return state
        }
        do {
            try await remove(work.ended)
            for start in stride(from: 0, to: work.unchecked.count, by: Self.batch) {
                try await removeEnded(among: Array(work.unchecked[start...].prefix(Self.batch)))
            }
            if work.isSweepDue { try await sweep() }
            return work.isSweepDue
        } catch {
            state.withLock { state in
                state.ended += work.ended
                state.unchecked += work.unchecked
                state.isSweepDue = state.isSweepDue || work.isSweepDue
            }
            throw error
        }
    }

    private func sweep() async throws {
        var last = ""
        while true {
            let ids = try await database.read { [last] in
                try DevicesStore($0).sessions(after: last, limit: Self.batch)
            }
            guard let end = ids.last else { return }
            try await removeEnded(among: ids)
            last = end
        }
    }

    private func removeEnded(among ids: [String]) async throws {
        let context = BusContext(requestID: "push-sessions", isQuestion: true)
        let reply = try await bus.ask(
            Subject.liveSessions,
            JSONWriter.object { $0.member("ids", array: { for id in ids { $0.string(id) } }) }, context, of: "Accounts")
        guard let listed = reply.data.array else { throw ServiceError.unavailable("Accounts") }
        let live = Set(listed.compactMap(\.string))
        try await remove(ids.filter { !live.contains($0) })
    }

    private func remove(_ ids: [String]) async throws {
        guard !ids.isEmpty else { return }
        try await database.write { try DevicesStore($0).removeAll(ofSessions: ids) }
    }
}

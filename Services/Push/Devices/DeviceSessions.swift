import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorStorage
import ParlorWorkers
import Synchronization

/// Removes devices whose session has ended: by signing out, by revocation, by a refresh token that was used twice,
/// or because it expired.
///
/// Ends come from the log of accounts. A session may also end before the log is followed, or expire, which has no
/// entry. So this class asks Accounts which sessions exist: each time it starts to follow the log, once an hour, and
/// after each registration of a device. Several instances on one database all do this, which does no harm.
final class DeviceSessions: Sendable {
    /// An entry that the bus has lost is delayed by this at most.
    private static let lookInterval: Duration = .seconds(2)
    private static let retryInterval: Duration = .seconds(2)
    private static let sweepInterval: Duration = .seconds(3600)
    /// The number of sessions that are asked for, or removed, at once.
    private static let batch = 500
    /// The limit of ids that wait while accounts or the database is down. Beyond it they are
    /// dropped, because a sweep finds them again.
    static let maxWaiting = 10_000

    private struct State {
        var ended: [String] = []
        var unchecked: [String] = []
        var isSweepDue = true
        var follower: LogFollower?

        mutating func limit() {
            guard ended.count + unchecked.count > DeviceSessions.maxWaiting else { return }
            (ended, unchecked, isSweepDue) = ([], [], true)
        }
    }

    private let database: any Database
    private let bus: any MessageBus
    private let log: Logger
    private let wakeSignal = AsyncSignal()
    private let state = Mutex(State())

    init(database: any Database, bus: any MessageBus, log: Logger) {
        self.database = database
        self.bus = bus
        self.log = log
    }

    /// Notes that a device was registered in this session.
    func check(_ sessionID: String) {
        state.withLock { state in
            state.unchecked.append(sessionID)
            state.limit()
        }
        wakeSignal.signal()
    }

    // MARK: Following

    func listen(on loop: EventLoop) throws(BusError) {
        let follower = LogFollower(
            .accounts, bus: bus, on: loop, log: log, lookingEvery: Self.lookInterval,
            deliver: { [weak self] in self?.take($0) },
            onStart: { [weak self] _ in self?.sweepSoon() })
        try follower.start()
        state.withLock { $0.follower = follower }
    }

    func stopListening() { state.withLock { $0.follower }?.stop() }

    func take(_ entries: [LogEntry]) {
        let ids = entries.flatMap { $0.fact?.sessionsEnded?.sessionIDs ?? [] }
        guard !ids.isEmpty else { return }
        state.withLock { state in
            state.ended += ids
            state.limit()
        }
        wakeSignal.signal()
    }

    private func sweepSoon() {
        state.withLock { $0.isSweepDue = true }
        wakeSignal.signal()
    }

    // MARK: Working

    /// Removes devices until the task is cancelled.
    func run() async {
        var failure = RepeatedFailure()
        var sweptAt = ContinuousClock.now
        while !Task.isCancelled {
            if sweptAt + Self.sweepInterval <= .now { state.withLock { $0.isSweepDue = true } }
            do {
                if try await step() { sweptAt = .now }
                if failure.end() { log.info("ended sessions are followed again") }
            } catch {
                if failure.note("\(error)") {
                    log.warning("devices of ended sessions cannot be removed now", ["error": "\(error)"])
                }
            }
            await wakeSignal.wait(atMost: failure.isThere ? Self.retryInterval : sweptAt + Self.sweepInterval - .now)
        }
    }

    /// Removes the devices of sessions that are known to have ended, and asks about sessions that were not checked
    /// yet. After a failure, the next call does the rest.
    ///
    /// - Returns: true if it swept, that is, asked about every session that has a device.
    @discardableResult
    func step() async throws -> Bool {
        var work = state.withLock { state in
            defer { (state.ended, state.unchecked, state.isSweepDue) = ([], [], false) }
            return state
        }
        do {
            for start in stride(from: 0, to: work.ended.count, by: Self.batch) {
                try await remove(Array(work.ended[start...].prefix(Self.batch)))
            }
            // This part is done. It must not be repeated with each attempt, as Accounts may be down for long.
            work.ended = []
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
                state.limit()
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
        let context = BusContext(requestID: "push-sessions", isRepeatable: true)
        let data = JSONWriter.object { $0.member("ids", ids) }
        let reply = try await bus.ask(Subject.liveSessions, data, context, of: "Accounts")
        guard let listed = reply.data.array else { throw ServiceError.unavailable("Accounts") }
        let live = Set(listed.compactMap(\.string))
        try await remove(ids.filter { !live.contains($0) })
    }

    private func remove(_ ids: [String]) async throws {
        guard !ids.isEmpty else { return }
        try await database.write { try DevicesStore($0).removeAll(ofSessions: ids) }
    }
}

import Contracts
import ServiceKit
import Storage
import Workers

/// Takes jobs that are due, looks whether they are still worth it, and has the provider send them, many at a time.
///
/// What it takes it holds by a lease that it renews while it lives; after a crash others take it again. Any number of workers
/// share the jobs of one database.
final class PushWorker: Sendable {
    /// Jobs taken at once, and in hand at most: enough for more than a thousand a second, with few commits.
    private static let maxClaimed = 512
    private static let maxInHand = 1024
    /// Long enough for a write that waits for a slow disk.
    private static let lease: Duration = .seconds(10)
    private static let beatInterval: Duration = .seconds(3)
    /// Without a sign of new jobs: another instance makes some, too.
    private static let idleInterval: Duration = .seconds(1)
    private static let retryInterval: Duration = .seconds(1)
    /// How long attempts that are under way may take at the end.
    private static let farewell: Duration = .seconds(2)

    private let id: String
    private let database: any Database
    private let circumstances: Circumstances
    private let dispatch: Dispatch
    private let background: TaskThread
    let health: ProviderHealth
    let results: JobResults
    private let clock: any WallClock
    private let log: Logger
    private let metrics: PushMetrics
    let wakeup = Wakeup()

    init(
        _ context: ServiceContext, circumstances: Circumstances, provider: any PushProvider, metrics: PushMetrics,
        on background: TaskThread, showsText: Bool
    ) {
        id = context.newID(at: context.clock.now())
        database = context.database
        clock = context.clock
        log = context.log
        self.circumstances = circumstances
        self.metrics = metrics
        self.background = background
        health = ProviderHealth(log: context.log)
        metrics.watchHealth(health)
        results = JobResults(context.database, of: id, clock: context.clock, log: context.log) { [wakeup] in
            wakeup.signal()
        }
        dispatch = Dispatch(
            provider: provider, health: health, results: results, metrics: metrics, clock: context.clock,
            background: background, showsText: showsText)
    }

    /// Until the task is cancelled. Then what is under way has a moment to end, and what was taken is given back.
    func run() async {
        let beating = Task(executorPreference: background) { [self] in await beat() }
        let writing = Task(executorPreference: background) { [results] in await results.run() }
        var trouble = LastingTrouble()
        while !Task.isCancelled {
            let pause: Duration
            do {
                pause = try await takeTurn()
                trouble.end()
            } catch {
                if trouble.note("\(error)") { log.warning("jobs cannot be worked on", ["error": "\(error)"]) }
                pause = Self.retryInterval
            }
            if pause > .zero { await wakeup.wait(atMost: pause) }
        }
        // In a task of its own: this one is cancelled, and what it waits for would end at once.
        await Task(executorPreference: background) { [self] in await finish() }.value
        beating.cancel()
        writing.cancel()
        await writing.value
        await beating.value
        await results.write()
        try? await database.write { [id] in try PushDatabase($0).release(id) }  // or the lease ends by itself
    }

    private func finish() async {
        let end = ContinuousClock.now + Self.farewell
        while results.inHand > 0, ContinuousClock.now < end { await wakeup.wait(atMost: end - .now) }
        await dispatch.stop()
    }

    /// Works on what is due.
    ///
    /// - Returns: for how long there is nothing to do.
    func takeTurn() async throws -> Duration {
        let (allowed, pause) = health.allowance(of: Self.maxInHand)
        guard allowed > 0 else { return pause }
        let room = min(allowed - results.inHand, Self.maxClaimed)
        // Few at a time would cost as much as many.
        guard room > 0, room >= min(allowed, Self.maxClaimed) / 2 else { return Self.idleInterval }
        let now = clock.now()
        guard let due = try await database.read({ try PushDatabase($0).nextDue() }) else { return Self.idleInterval }
        guard due <= now else { return min(.milliseconds(due.milliseconds - now.milliseconds), Self.idleInterval) }
        let claims = try await database.write { [id] connection in
            let database = PushDatabase(connection)
            try database.releaseExpired(at: now)
            let claims = try database.claim(room, for: id, at: now)
            if !claims.isEmpty { try database.extendLease(of: id, until: now.adding(Self.lease)) }
            return claims
        }
        results.expect(claims.count)
        var rest = claims[...]
        do throws(ServiceError) {
            while !rest.isEmpty {
                try await judge(Array(rest.prefix(Circumstances.maxJobs)))
                rest = rest.dropFirst(Circumstances.maxJobs)
            }
        } catch {
            giveBack(rest)
            throw error
        }
        return .zero
    }

    /// Asks what has become of the messages, and whom they would reach anyway; then sends what is worth it.
    ///
    /// - Throws: if messaging does not say what is unread; then nothing was done.
    private func judge(_ claims: [Claim]) async throws(ServiceError) {
        let now = clock.now()
        let unread = try await circumstances.unread(of: claims.map(\.job))
        let alerts = claims.filter { !$0.job.isBadge && unread[$0.job.userID]?.texts[$0.job.messageID] != nil }
        let sockets = await circumstances.sockets(for: alerts.map(\.job))
        var chosen: [(claim: Claim, unread: Circumstances.Unread)] = []
        for claim in claims {
            guard let unread = unread[claim.job.userID] else { preconditionFailure("everyone was asked for") }
            let judgement: Judgement =
                claim.job.isBadge
                ? (Judgement.isExpired(claim.job, at: now) ? .drop(.expired) : .send)
                : .of(
                    claim.job, isUnread: unread.texts[claim.job.messageID] != nil,
                    sockets: sockets[claim.job.place] ?? [], at: now)
            switch judgement {
            case .send: chosen.append((claim, unread))
            case .watch:
                let later = now.adding(Judgement.watchInterval)
                results.add(JobResult(claim: claim, end: .later(later, countsAsAttempt: false, isWatching: true)))
            case .drop(let reason):
                metrics.dropped(reason)
                results.add(JobResult(claim: claim, end: .done))
            }
        }
        let names = await circumstances.names(
            of: Set(chosen.lazy.filter { !$0.claim.job.isBadge }.map(\.claim.job.roomID)))
        for (claim, unread) in chosen { dispatch.send(claim, unread, roomName: names[claim.job.roomID]) }
    }

    private func giveBack(_ claims: ArraySlice<Claim>) {
        let later = clock.now().adding(Self.retryInterval)
        for claim in claims {
            results.add(JobResult(claim: claim, end: .later(later, countsAsAttempt: false, isWatching: false)))
        }
    }

    /// Renews the lease while something is in hand, and counts what there is.
    private func beat() async {
        while !Task.isCancelled {
            do {
                if results.inHand > 0 {
                    let end = clock.now().adding(Self.lease)
                    try await database.write { [id] in try PushDatabase($0).extendLease(of: id, until: end) }
                }
                metrics.jobs = try await database.read { try PushDatabase($0).counts() }
            } catch {
                log.warning("the lease of jobs was not renewed", ["error": "\(error)"])
            }
            try? await Task.sleep(for: Self.beatInterval)  // cancelled at the end
        }
    }
}

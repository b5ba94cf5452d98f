import ParlorContracts
import ParlorServiceKit
import ParlorStorage
import ParlorWorkers
import Synchronization

/// Sends due jobs in one of the provider's two environments. Each has its own worker, so an unavailable one
/// does not delay the other.
///
/// Many jobs are claimed at once. They are processed in portions as earlier attempts end, so that what is sent
/// is current.
final class EnvironmentWorker: Sendable {
    /// The limits of jobs claimed at once. Many are claimed together, because claiming is a commit. The second limit
    /// applies while attempts are made one at a time, such as before the first success.
    private static let maxClaimed = 512
    private static let maxTried = 64
    /// The limit of claimed jobs, including those without a stored result.
    private static let maxInHand = 2048
    /// The interval between checks without a signal of new jobs: other instances create some, too.
    private static let idleInterval: Duration = .seconds(1)
    private static let retryInterval: Duration = .seconds(1)

    let health: ProviderHealth
    let wakeSignal: AsyncSignal
    private let environment: Device.Environment
    private let concurrency: Int
    private let database: any Database
    private let deliveryContext: DeliveryContext
    private let sender: NotificationSender
    private let results: JobResults
    private let clock: any WallClock
    private let log: Logger
    private let metrics: PushMetrics
    private let newLease: @Sendable () -> String
    /// The jobs claimed with one lease and not processed yet.
    private let held = Mutex<ArraySlice<Claim>>([])

    init(
        _ context: ServiceContext, in environment: Device.Environment, deliveryContext: DeliveryContext,
        provider: any PushProvider, results: JobResults, metrics: PushMetrics, on background: TaskThread,
        form: AlertForm
    ) {
        let wakeSignal = AsyncSignal()
        let health = ProviderHealth(of: environment, log: context.log)
        self.environment = environment
        self.health = health
        self.wakeSignal = wakeSignal
        self.deliveryContext = deliveryContext
        self.results = results
        self.metrics = metrics
        concurrency = type(of: provider).concurrency
        database = context.database
        clock = context.clock
        log = context.log
        newLease = { context.newID(at: context.clock.now()) }
        sender = NotificationSender(
            provider, health: health, results: results, metrics: metrics, clock: context.clock,
            background: background, form: form, onRoom: { wakeSignal.signal() })
        metrics.watchHealth(health)
    }

    /// Works until the task is cancelled. Jobs claimed then stay claimed until their lease is released.
    func run() async {
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            let pause: Duration
            do {
                pause = try await takeTurn()
                failure.end()
            } catch {
                if failure.note("\(error)") {
                    log.warning(
                        "jobs cannot be worked on", ["environment": environment.rawValue, "error": "\(error)"])
                }
                pause = Self.retryInterval
            }
            if pause > .zero { await wakeSignal.wait(atMost: pause) }
        }
    }

    /// The number of attempts that have not ended.
    var inFlight: Int { sender.inFlight }

    /// Processes due jobs.
    ///
    /// - Returns: the time until there is more to do.
    func takeTurn() async throws -> Duration {
        let (allowed, pause) = health.allowance(of: concurrency)
        guard allowed > 0 else {
            giveBack(take(.max))
            return pause
        }
        let room = allowed - sender.inFlight
        // Work on a few claims costs as much as on many, so wait until there is room for
        // half of the attempts. A signal comes then.
        guard room >= max(1, allowed / 2) else { return Self.idleInterval }
        if held.withLock({ $0.isEmpty }), let pause = try await claim(isProven: allowed > 1) { return pause }
        try await work(on: take(min(room, DeliveryContext.maxJobs)))
        return .zero
    }

    private func take(_ limit: Int) -> [Claim] {
        held.withLock { held in
            defer { held = held.dropFirst(limit) }
            return Array(held.prefix(limit))
        }
    }

    /// - Returns: the time until jobs can be claimed; nil if some were.
    private func claim(isProven: Bool) async throws -> Duration? {
        guard results.inHand < Self.maxInHand else { return Self.idleInterval }
        let (now, own, environment) = (clock.now(), results.leases, environment)
        let due = try await database.read { try JobsStore($0).nextDue(in: environment, besides: own) }
        guard let due else { return Self.idleInterval }
        guard due <= now else { return min(.milliseconds(due.milliseconds - now.milliseconds), Self.idleInterval) }
        let (limit, lease) = (isProven ? Self.maxClaimed : Self.maxTried, newLease())
        let claims = try await database.write(.relaxed) { connection in
            let jobs = JobsStore(connection)
            try jobs.releaseExpired(at: now, besides: own)
            return try jobs.claim(limit, in: environment, by: lease, at: now)
        }
        results.expect(claims)
        held.withLock { $0 = claims[...] }
        return nil
    }

    /// Requests the messages' state and the people who have their rooms open, then sends the notifications
    /// that are worth it.
    ///
    /// - Throws: if messaging does not reply, or the database of devices fails; nothing was done then.
    private func work(on claims: [Claim]) async throws {
        guard let lease = claims.first?.lease else { return }
        let alerts = claims.lazy.map(\.job).filter { !$0.isBadge }
        // Names first: they may take a while, and do not become outdated.
        let names = await deliveryContext.names(of: Set(alerts.map(\.roomID)))
        let unread: [String: DeliveryContext.Unread]
        let sockets: [OpenRoomsRequest.Member: [SocketEvidence]]
        let current: [String: Claim]
        let now = clock.now()
        do {
            async let asked = deliveryContext.sockets(for: Array(alerts))
            unread = try await deliveryContext.unread(of: claims.map(\.job))
            sockets = await asked
            // Last, as a device may have changed owner meanwhile.
            current = Dictionary(
                uniqueKeysWithValues: try await database.read { connection in
                    try JobsStore(connection).claims(claims.map(\.job.id), by: lease, at: now)
                }.map { ($0.job.id, $0) })
        } catch {
            held.withLock { $0 = claims + $0 }
            throw error
        }
        // When the worker ends, all held jobs are released.
        guard !Task.isCancelled else { return }
        for claim in claims {
            guard let unread = unread[claim.job.userID] else { preconditionFailure("everyone was asked for") }
            guard let device = current[claim.job.id]?.device else {
                results.add(JobResult(claim: claim, end: .done))
                continue
            }
            switch decision(of: claim.job, unread, sockets, at: now) {
            case .send: sender.send(claim.to(device), unread, roomName: names[claim.job.roomID])
            case .watch:
                let later = now.adding(DeliveryDecision.watchInterval)
                results.add(JobResult(claim: claim, end: .later(later, countsAsAttempt: false, isWatching: true)))
            case .drop(let reason):
                metrics.dropped(reason)
                results.add(JobResult(claim: claim, end: .done))
            }
        }
    }

    private func decision(
        of job: Job, _ unread: DeliveryContext.Unread, _ sockets: [OpenRoomsRequest.Member: [SocketEvidence]],
        at now: Timestamp
    ) -> DeliveryDecision {
        if job.isBadge { return DeliveryDecision.isExpired(job, at: now) ? .drop(.expired) : .send }
        return .of(job, isUnread: unread.messages[job.messageID] != nil, sockets: sockets[job.member] ?? [], at: now)
    }

    /// Releases jobs, as another instance may be able to send them.
    private func giveBack(_ claims: [Claim]) {
        let now = clock.now()
        for claim in claims {
            results.add(JobResult(claim: claim, end: .later(now, countsAsAttempt: false, isWatching: false)))
        }
    }
}

extension Claim {
    /// Returns the claim with the device's current state. The revision stays that of the claim. If it has risen since,
    /// the job is sent once more (`JobsStore.record`).
    fileprivate func to(_ device: Device) -> Claim {
        Claim(job: job, device: device, attempts: attempts, revision: revision, lease: lease)
    }
}

import ParlorContracts
import ParlorServiceKit
import ParlorStorage
import ParlorWorkers

/// Claims due jobs, checks whether they are still worth sending, and has the provider send them, many at a
/// time.
///
/// Claimed jobs are held by leases, which are renewed while the process lives; after a crash others claim
/// them again. Any number of workers share the jobs of one database.
final class PushWorker: Sendable {
    private static let renewInterval: Duration = .seconds(3)
    private static let countInterval: Duration = .seconds(3)
    /// Counting takes at most one fiftieth of the time. Counting reads every job, so with many jobs it runs less often.
    private static let countShare = 50
    /// The longest pause, however slow the machine was.
    private static let maxPause: Duration = .seconds(60)
    /// The limit of expired jobs that are removed at once.
    private static let maxRemoved = 1000
    /// The time that attempts in progress have to end when the service stops. Waits for other services come before
    /// it, and all of it stays within `Program.stopDeadline`.
    private static let shutdownGrace: Duration = .seconds(1)

    let workers: [EnvironmentWorker]
    let results: JobResults
    private let database: any Database
    private let provider: any PushProvider
    private let background: TaskThread
    private let clock: any WallClock
    private let log: Logger
    private let metrics: PushMetrics

    init(
        _ context: ServiceContext, deliveryContext: DeliveryContext, provider: any PushProvider, metrics: PushMetrics,
        on background: TaskThread, form: AlertForm
    ) {
        database = context.database
        clock = context.clock
        log = context.log
        self.provider = provider
        self.metrics = metrics
        self.background = background
        let results = JobResults(context.database, clock: context.clock, log: context.log)
        self.results = results
        workers = Device.Environment.allCases.map {
            EnvironmentWorker(
                context, in: $0, deliveryContext: deliveryContext, provider: provider, results: results,
                metrics: metrics,
                on: background, form: form)
        }
    }

    /// Signals that there are new jobs.
    func wake() { for worker in workers { worker.wakeSignal.signal() } }

    /// Works until the task is cancelled. Then attempts in progress have a moment to end, and claimed jobs
    /// are released.
    func run() async {
        let helpers = [
            Task(executorPreference: background) { [self] in await renewLeases() },
            Task(executorPreference: background) { [self] in await countJobs() },
            Task(executorPreference: background) { [results] in await results.run() },
        ]
        await withTaskGroup { group in
            for worker in workers { group.addTask { await worker.run() } }
        }
        // In a task of its own: this one is cancelled, so its waits would end at once.
        await Task(executorPreference: background) { [self] in await finish() }.value
        for helper in helpers { helper.cancel() }
        for helper in helpers { await helper.value }
        // If this fails, the jobs are claimed again, and the notifications are sent again, but shown once.
        try? await results.write()
        let leases = results.leases
        if !leases.isEmpty { try? await database.write(.relaxed) { try JobsStore($0).release(leases) } }
    }

    private func finish() async {
        let end = ContinuousClock.now + Self.shutdownGrace
        for worker in workers {
            while worker.inFlight > 0, ContinuousClock.now < end { await worker.wakeSignal.wait(atMost: end - .now) }
        }
        await provider.stop()
    }

    private func renewLeases() async {
        await forever(every: Self.renewInterval, "the lease of jobs is not renewed") {
            let (leases, now) = (results.leases, clock.now())
            guard !leases.isEmpty else { return }
            try await database.write(.relaxed) { try JobsStore($0).renew(leases, at: now) }
        }
    }

    private func countJobs() async {
        var isFirst = true
        await forever(every: Self.countInterval, share: Self.countShare, "jobs are not counted") {
            if isFirst { try await endOthersQuarantines() }
            isFirst = false
            try await count()
        }
    }

    /// Ends quarantines that began under other settings, as a token may be valid under the current ones.
    func endOthersQuarantines() async throws {
        try await database.write(.relaxed) { [provider] in
            try DevicesStore($0).endQuarantines(except: provider.identity)
        }
    }

    /// Counts jobs, and removes those that are too old: there may be many while the provider accepts nothing.
    func count() async throws {
        let counts = try await database.read { try JobsStore($0).counts() }
        metrics.jobs = counts
        let now = clock.now()
        guard let oldest = counts.oldest, oldest < JobPlan.horizon(at: now) else { return }
        var removed: Int
        repeat {
            removed = try await database.write(.relaxed) {
                try JobsStore($0).removeExpired(Self.maxRemoved, at: now)
            }
            metrics.dropped(.expired, count: removed)
        } while removed == Self.maxRemoved && !Task.isCancelled
    }

    /// Repeats the body until the task is cancelled.
    ///
    /// - Parameter share: the minimum pause, as a multiple of the body's duration; a minute at most.
    private func forever(
        every interval: Duration, share: Int = 0, _ complaint: String, _ body: () async throws -> Void
    ) async {
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            let began = ContinuousClock.now
            do {
                try await body()
                failure.end()
            } catch {
                if failure.note("\(error)") { log.warning(complaint, ["error": "\(error)"]) }
            }
            let pause = max(interval, min((.now - began) * share, Self.maxPause))
            try? await Task.sleep(for: pause)  // cancelled at the end
        }
    }
}

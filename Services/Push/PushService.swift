import Contracts
import MessageBus
import Reactor
import ServiceKit
import Storage
import Synchronization
import Workers

/// What the service offers, and what it is made of.
public struct PushService: Service {
    public static let name = "push"

    static let provider = Setting(
        "PUSH_PROVIDER", .choice(PushProviders.all.map { $0.name }), default: LogProvider.name,
        "Who brings notifications to devices; log: nobody, they are written down")
    static let hold = Setting(
        "PUSH_HOLD", .duration(.zero ... .seconds(60)), default: "3s",
        "How long a message may be read or deleted before anyone is woken for it")
    static let preview = Setting(
        "PUSH_PREVIEW", .choice(["on", "off"]), default: "on", "Whether notifications have the message's text in them")

    public static let settings = [provider, hold, preview] + PushProviders.all.flatMap { $0.settings }
    public static let migrations = PushDatabase.migrations
    public static let priority = ThreadPriority.background
    public static let peer = BusPeer.service(
        name,
        requests: [Subject.logPage(of: LogReader.stream), "messaging.unread", "rooms.names", "gateways.*.open"],
        subscribes: [
            Subject.log(of: LogReader.stream), Subject.announce(of: LogReader.stream), Subject.gatewayAlive,
        ])

    private let push: Push
    let reader: LogReader
    private let membership: GatewayMembership
    let worker: PushWorker
    /// How long gateways may take to be heard of.
    private let learningTime: Duration
    /// All that goes on beside requests. One thread: many notifications at once are the network's work, and not a core's.
    private let background = TaskThread(named: "push", priority: PushService.priority)
    private let running = RunningTasks()

    public init(_ context: ServiceContext) throws {
        try self.init(context, provider: try PushProviders.make(context), learningTime: .seconds(1))
    }

    init(_ context: ServiceContext, provider: any PushProvider, learningTime: Duration) throws {
        let (configuration, clock, ids) = (context.configuration, context.clock, context.ids)
        self.learningTime = learningTime
        let metrics = PushMetrics(context.metrics, provider: type(of: provider).name, clock: clock)
        let hold = configuration.duration(Self.hold.name)
        membership = GatewayMembership(context.bus)
        let gateways = LiveGateways(context.bus, membership)
        let worker = PushWorker(
            context, circumstances: Circumstances(bus: context.bus, gateways: gateways), provider: provider,
            metrics: metrics, on: background, showsText: configuration.isOn(Self.preview.name))
        push = Push(database: context.database, clock: clock)
        reader = LogReader(
            database: context.database, bus: context.bus, log: context.log, metrics: metrics,
            plan: { JobPlan(hold: hold, now: clock.now(), ids: ids) }, onJobs: { worker.wake() })
        self.worker = worker
    }

    public var manifest: Manifest {
        Manifest(
            service: Self.name,
            routes: [
                Route("POST", "/api/devices", "push.register", limits: ["devices"]),
                Route("DELETE", "/api/devices/:token", "push.unregister", limits: ["devices"]),
            ],
            limits: [RateLimit("devices", perPerson: 60, perAddress: 600, seconds: 60)])
    }

    public func register(in requests: inout RequestTable) {
        let push = push
        requests.on("push.register") { try await push.registerDevice($0) }
        requests.on("push.unregister") { try await push.unregisterDevice($0) }
    }

    public func start(on loop: EventLoop) throws {
        try membership.start(on: loop)
        let subscriptions = try reader.listen()
        let (reader, worker, learningTime) = (reader, worker, learningTime)
        running.start(
            subscriptions,
            Task(executorPreference: background) { await reader.run() },
            Task(executorPreference: background) {
                // Until it is known who has which room open.
                try? await Task.sleep(for: learningTime)  // cancelled at the end
                await worker.run()
            })
    }

    public func stop() async {
        membership.stop()
        await running.stop()
    }
}

/// What a service does beside requests, from its start to its stop.
private final class RunningTasks: Sendable {
    private struct State {
        var subscriptions: [BusSubscription] = []
        var tasks: [Task<Void, Never>] = []
    }

    private let state = Mutex(State())

    func start(_ subscriptions: [BusSubscription], _ tasks: Task<Void, Never>...) {
        state.withLock { $0 = State(subscriptions: subscriptions, tasks: tasks) }
    }

    /// Returns when all tasks have ended.
    func stop() async {
        let state = state.withLock { $0 }
        for subscription in state.subscriptions { subscription.cancel() }
        for task in state.tasks { task.cancel() }
        for task in state.tasks { await task.value }
    }
}

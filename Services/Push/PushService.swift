import ParlorContracts
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorStorage
import ParlorWorkers
import Synchronization

/// The service's declaration, and its wiring.
public struct PushService: Service {
    public static let name = "push"

    static let hold = Setting(
        "PUSH_HOLD", .duration(.zero ... .seconds(60)), default: "3s", in: .notifications,
        "Delay before a notification, in which the message may still be read or deleted")
    static let preview = Setting(
        "PUSH_PREVIEW", .onOrOff, default: "on", in: .notifications, "Include the message's text in notifications")
    static let category = Setting(
        "PUSH_CATEGORY", .category, default: "message", in: .notifications,
        "Category of notifications, which selects the actions that the app has declared for it; off: none")
    static let localizationKeys = Setting(
        "PUSH_LOC_KEYS", .onOrOff, default: "off", in: .notifications,
        "Send localization keys instead of the title and \"New message\"; needs an app with these keys")

    public static let settings =
        [PushProviders.setting, hold, preview, category, localizationKeys] as [any AnySetting]
        + PushProviders.all.flatMap { $0.settings }
    public static let migrations = PushSchema.migrations
    public static let priority = ThreadPriority.background
    public static let peer = BusPeer.service(
        name,
        requests: [
            Subject.unread, Subject.roomNames, Subject.openRooms(of: "*"), Subject.logPage(of: .accounts),
            Subject.liveSessions,
        ],
        subscribes: [Subject.gatewayAlive, Subject.log(of: .accounts)], follows: [.messaging])
    /// The shortest time between reads of messaging's log: notifications are delayed for longer anyway.
    private static let pace: Duration = .milliseconds(200)
    public static let limits = RateLimit.ofPush

    private let push: Push
    let reader: DurableFollower<JobMaker>
    let sessions: DeviceSessions
    private let gateways: LiveGateways
    private let membership: GatewayMembership
    let worker: PushWorker
    /// How long the worker waits at the start, so that gateways can announce themselves.
    private let learningTime: Duration
    /// The thread of all work other than requests. One suffices: many notifications at once are work for the
    /// network, not for a core.
    private let background = TaskThread(named: "push", priority: PushService.priority)
    private let running = RunningTasks()

    public init(_ context: ServiceContext) throws {
        try self.init(context, provider: try PushProviders.make(context), learningTime: .seconds(1))
    }

    init(_ context: ServiceContext, provider: any PushProvider, learningTime: Duration) throws {
        let (configuration, clock, ids) = (context.configuration, context.clock, context.ids)
        self.learningTime = learningTime
        let metrics = PushMetrics(context.metrics, provider: type(of: provider).name, clock: clock)
        let hold = configuration[Self.hold]
        membership = GatewayMembership(context.bus)
        gateways = LiveGateways(context.bus, membership)
        let worker = PushWorker(
            context, deliveryContext: DeliveryContext(bus: context.bus, gateways: gateways), provider: provider,
            metrics: metrics, on: background,
            form: AlertForm(
                showsText: configuration[Self.preview], category: configuration[Self.category],
                usesKeys: configuration[Self.localizationKeys]))
        reader = DurableFollower(
            .messaging, for: Self.self, context, durability: .relaxed, pace: Self.pace,
            JobMaker(
                database: context.database, restarts: metrics.logRestarts,
                plan: { JobPlan(hold: hold, now: clock.now(), ids: ids) }, onJobs: { worker.wake() }))
        sessions = DeviceSessions(database: context.database, bus: context.bus, log: context.log)
        push = Push(database: context.database, reader: reader, sessions: sessions, clock: clock)
        self.worker = worker
    }

    public func register(in requests: inout RequestTable) {
        let push = push
        requests.on(.register) { try await push.registerDevice($0) }
        requests.on(.unregister) { try await push.unregisterDevice($0) }
    }

    public func start(on loop: EventLoop) throws {
        try membership.start(on: loop)
        let subscriptions = [gateways.listen()]
        try reader.start(on: background)
        try sessions.listen(on: loop)
        let (sessions, worker, learningTime) = (sessions, worker, learningTime)
        running.start(
            subscriptions,
            Task(executorPreference: background) { await sessions.run() },
            Task(executorPreference: background) {
                // Wait until gateways have announced themselves, so that they can be asked who has which room
                // open.
                try? await Task.sleep(for: learningTime)  // cancelled at the end
                await worker.run()
            })
    }

    public func stop() async {
        membership.stop()
        sessions.stopListening()
        async let reading: Void = reader.stop()
        await running.stop()
        await reading
    }
}

extension Endpoint {
    fileprivate static let register = Endpoint("push.register")
        .route("POST", "/api/devices", limits: ["devices"], wantsClient: true)
        .described(.registerDevice)
    fileprivate static let unregister = Endpoint("push.unregister")
        .route("DELETE", "/api/devices/:token", limits: ["devices"], isConfidential: true)
        .described(.unregisterDevice)
}

extension SettingKind where Value == String? {
    /// Accepts the identifier of a `UNNotificationCategory`, or `off`. The limit is low, because a long category
    /// leaves less of a payload for the text.
    fileprivate static var category: SettingKind {
        SettingKind("has to be off, or 1 to 64 letters, digits, dots, hyphens and underscores") { text in
            if text == "off" { return .some(nil) }
            let isValid = text.utf8.allSatisfy { byte in
                let scalar = Unicode.Scalar(byte)
                return scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                    || "._-".unicodeScalars.contains(scalar)
            }
            return isValid && (1...64).contains(text.utf8.count) ? .some(text) : nil
        }
    }
}

/// The tasks of a service besides requests, from its start to its stop.
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

import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit
import Synchronization

/// Learns from the bus which services there are, and follows the event log of each that has one.
final class Directory: Sendable {
    private struct State {
        var catalog: Catalog
        var followers: [String: StreamFollower] = [:]
        var subscriptions: [BusSubscription] = []
        /// The services that were ever heard from, and of whose log, if there is one, it is known where it is followed from.
        var settled: Set<String> = []
        /// What the file holds, to write it only when it changes.
        var saved: [String: JSONValue] = [:]
    }

    private let state: Mutex<State>
    private let bus: any MessageBus
    private let loop: EventLoop
    private let file: ManifestFile?
    private let log: Logger
    private let deliver: @Sendable (_ stream: String, [StreamEntry]) -> Void
    private let onStart: @Sendable (_ stream: String, Bookmark) -> Void
    private let onAnnouncement: @Sendable (Manifest) -> Void

    private static let settlingInterval: Duration = .milliseconds(2)

    /// - Parameters:
    ///   - file: where manifests are kept over restarts; nil where all services are in this process.
    ///   - deliver: takes the entries of a service's log, on the loop.
    ///   - onStart: told, on the loop, that a log is followed from this place on.
    ///   - onAnnouncement: told of each, also of one that changes nothing; any thread.
    init(
        required: Set<String>, bus: any MessageBus, on loop: EventLoop, file: ManifestFile?, log: Logger,
        deliver: @escaping @Sendable (_ stream: String, [StreamEntry]) -> Void,
        onStart: @escaping @Sendable (_ stream: String, Bookmark) -> Void,
        onAnnouncement: @escaping @Sendable (Manifest) -> Void
    ) {
        state = Mutex(State(catalog: Catalog(required: required)))
        self.bus = bus
        self.loop = loop
        self.file = file
        self.log = log
        self.deliver = deliver
        self.onStart = onStart
        self.onAnnouncement = onAnnouncement
    }

    var catalog: Catalog { state.withLock { $0.catalog } }

    /// Whether a subject's service has said that it takes questions in batches.
    func takesBatches(on subject: String) -> Bool { state.withLock { $0.catalog.batched.contains(subject) } }

    func start() throws(BusError) {
        for manifest in file?.load() ?? [] {
            state.withLock { $0.saved[manifest.service] = manifest.json }
            learn(manifest)
        }
        let announcements = try bus.subscribe(Subject.announce) { [weak self] message in self?.hear(message.data) }
        let returns = bus.onStateChange { [weak self] state in
            if state == .connected { self?.discover() }
        }
        state.withLock { $0.subscriptions = [announcements, returns] }
        discover()
    }

    /// Returns once these services, and all that are known to have a log, were heard from and are followed, so that nobody is refused for want
    /// of that; or when the time is over, or the task cancelled.
    ///
    /// - Returns: those it was in vain for.
    func settle(with services: Set<String>, within limit: Duration) async -> Set<String> {
        let end = LoopInstant.now() + limit
        while true {
            let missing = state.withLock { services.union($0.catalog.streams).subtracting($0.settled) }
            if missing.isEmpty || LoopInstant.now() >= end || Task.isCancelled { return missing }
            try? await Task.sleep(for: Self.settlingInterval)  // cancelled: the loop ends
        }
    }

    /// Returns when the file is written, too.
    func stop() async {
        let (subscriptions, followers) = state.withLock { ($0.subscriptions, $0.followers.values) }
        for subscription in subscriptions { subscription.cancel() }
        for follower in followers { follower.stop() }
        await file?.close()
    }

    /// Somebody was told that this entry exists.
    func expect(_ position: StreamPosition) {
        state.withLock { $0.followers[position.stream] }?.expect(position.seq)
    }

    /// Every service is asked to announce itself, which also tells where its log stands.
    private func discover() {
        do throws(BusError) {
            try bus.publish(Subject.discover, JSONValue.emptyObject)
        } catch {
            log.error("services could not be asked for", ["error": "\(error)"])
        }
    }

    private func hear(_ announcement: JSONValue) {
        guard let object = announcement.object, let manifest = object["manifest"].flatMap(Manifest.init),
            let head = object["head"]?.object.flatMap(Bookmark.init)
        else { return log.warning("an announcement makes no sense") }
        learn(manifest)?.announced(head)
        if !manifest.hasEventLog { noteSettled(manifest.service) }
        keep(manifest)
    }

    /// - Returns: who follows its event log, if it has one that can be followed.
    @discardableResult
    private func learn(_ manifest: Manifest) -> StreamFollower? {
        let name = manifest.service
        // First: whoever finds it in the catalog may be told of an entry to expect.
        let follower = manifest.hasEventLog ? follower(of: name) : nil
        let isUnknown = state.withLock { state in
            defer { state.catalog = state.catalog.adding(manifest) }
            return state.catalog.manifests[name] == nil
        }
        if isUnknown { log.info("a service is there", ["name": name]) }
        onAnnouncement(manifest)
        return follower
    }

    /// - Returns: nil if the bus takes no subscription: the next announcement makes another try.
    private func follower(of service: String) -> StreamFollower? {
        if let known = state.withLock({ $0.followers[service] }) { return known }
        let follower = StreamFollower(
            service, bus: bus, on: loop, log: log, deliver: { [deliver] in deliver(service, $0) },
            onStart: { [onStart, weak self] place in
                onStart(service, place)
                self?.noteSettled(service)
            })
        do throws(BusError) {
            try follower.start()
        } catch {
            log.error("a service cannot be followed", ["service": service, "error": "\(error)"])
            return nil
        }
        // Another thread may have heard of it meanwhile.
        let kept = state.withLock { state in
            let kept = state.followers[service] ?? follower
            state.followers[service] = kept
            return kept
        }
        if kept !== follower { follower.stop() }
        return kept
    }

    private func noteSettled(_ service: String) { state.withLock { _ = $0.settled.insert(service) } }

    private func keep(_ manifest: Manifest) {
        guard let file else { return }
        let json = manifest.json
        let changed = state.withLock { state -> [Manifest]? in
            guard state.saved[manifest.service] != json else { return nil }
            state.saved[manifest.service] = json
            return state.catalog.services
        }
        if let changed { file.save(changed) }
    }
}

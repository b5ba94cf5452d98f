import ParlorContracts
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import Synchronization

/// Presence: the people who have rooms open or are typing, over all gateways. It lives on one loop of each
/// gateway.
///
/// A socket's join goes to `PresenceTable`, then to the services (`ServiceNotifier`), and only then to the
/// other gateways (`PeerSync`) and to clients. Typing goes to other gateways and clients at once. A gateway's
/// entries are removed when it dies (`GatewayMembership`).
package actor Presence: LoopActor {
    /// The number of changes to the result of `present(in:)`. It rises before a change is sent. Any thread may read it.
    package nonisolated let changes = Atomic(0)
    package nonisolated let loop: EventLoop
    private let gatewayID: String
    private nonisolated let bus: any MessageBus
    private let log: Logger
    /// The time after which typing ends without a renewal.
    private let typingTimeout: Duration
    private let serviceTimeout: Duration
    private let announce: @Sendable (Change) -> Void
    private let onOwnHeartbeat: @Sendable (LoopInstant) -> Void
    private nonisolated let membership: GatewayMembership
    /// The sockets that have a room open without seeing all of it. Services are notified of the others.
    private var unseeing = OwnerTable()
    private var table: PresenceTable { didSet { changes.store(table.revision, ordering: .releasing) } }
    private var typingTimers = TypingTimers()
    private var peers: PeerSync
    private lazy var services = ServiceNotifier(
        gatewayID: gatewayID, bus: bus, on: loop, log: log, timeout: serviceTimeout
    ) { [weak self] member, _ in
        self?.onLoop { $0.publishPresence(of: Entry(kind: .presence, member: member)) }
    }
    private var subscriptions: [BusSubscription] = []
    private var heartbeat: LoopTimer?
    private var lastHeartbeat = LoopInstant.now()
    private var partTimer: LoopTimer?
    /// The timer that ends others' typing while the bus is disconnected.
    private var deafTimer: LoopTimer?

    /// - Parameters:
    ///   - serviceTimeout: how long a join waits for a service that is to be notified.
    ///   - onOwnHeartbeat: called on the loop with the instant of a heartbeat of this gateway that has come back over the bus.
    ///   - announce: called on the loop, with each member's changes in order.
    package init(
        gatewayID: String, bus: any MessageBus, on loop: EventLoop, log: Logger, typingTimeout: Duration = .seconds(3),
        serviceTimeout: Duration = .seconds(1), onOwnHeartbeat: @escaping @Sendable (LoopInstant) -> Void = { _ in },
        announce: @escaping @Sendable (Change) -> Void
    ) {
        self.gatewayID = gatewayID
        self.bus = bus
        self.loop = loop
        self.log = log
        self.typingTimeout = typingTimeout
        self.serviceTimeout = serviceTimeout
        self.announce = announce
        self.onOwnHeartbeat = onOwnHeartbeat
        membership = GatewayMembership(bus, ownID: gatewayID)
        table = PresenceTable(gatewayID: gatewayID)
        peers = PeerSync(gatewayID: gatewayID, bus: bus, log: log)
    }

    package nonisolated func start() throws(BusError) {
        var made: [BusSubscription] = []
        for topic in PeerMessage.Topic.allCases {
            made.append(
                try bus.subscribe(topic.subject) { [weak self] message in
                    guard let self, let received = PeerMessage(topic, message.data) else { return }
                    if received.gateway == gatewayID, let time = message.data["at"]?.int {
                        onOwnHeartbeat(LoopInstant(nanoseconds: UInt64(clamping: time)))
                    }
                    enqueue { $0.receive(received) }
                })
        }
        made.append(
            bus.onStateChange { [weak self] state in self?.enqueue { $0.note(state) } })
        try membership.start(on: loop) { [weak self] change in
            if case .left(let gateway) = change { self?.onLoop { $0.evict(gateway) } }
        }
        let subscriptions = made
        enqueue { $0.begin(subscriptions) }
    }

    private func begin(_ subscriptions: [BusSubscription]) {
        self.subscriptions = subscriptions
        sendHello()
        heartbeat = loop.schedule(after: GatewayMembership.heartbeatInterval, weakly { $0.sendHeartbeat() })
        sendHeartbeat()
    }

    package func stop() {
        membership.stop()
        for timer in [heartbeat, partTimer, deafTimer] { timer?.cancel() }
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
    }

    // MARK: Sockets

    /// Records that a socket joined a room. Returns when the services are notified.
    ///
    /// - Parameter seesAll: false for a socket that is present, but for which nothing counts as seen: services are not
    ///   notified of it.
    package func join(_ member: RoomMember, socketID: String, seesAll: Bool = true) async {
        let entry = Entry(kind: .presence, member: member)
        if seesAll { unseeing.remove(entry, from: socketID) } else { unseeing.add(entry, to: socketID) }
        table.add(entry, socketID: socketID)
        await settle(entry)?.value
    }

    /// Records that a socket left a room, which also ends its typing there. Returns when the services are
    /// notified.
    package func leave(_ member: RoomMember, socketID: String) async {
        await remove(member, socketID: socketID)?.value
    }

    /// Records that a socket left a room.
    ///
    /// - Returns: the task that ends when the services are notified; nil if they are.
    @discardableResult
    package func remove(_ member: RoomMember, socketID: String) -> Task<Void, Never>? {
        stopTyping(member, socketID: socketID)
        return end(Entry(kind: .presence, member: member), socketID: socketID)
    }

    /// Records that a socket has closed.
    package func disconnect(socketID: String) {
        let entries = table.entries(ofSocket: socketID)
        for entry in entries where entry.kind == .typing { stopTyping(entry.member, socketID: socketID) }
        for entry in entries where entry.kind == .presence { end(entry, socketID: socketID) }
    }

    @discardableResult
    private func end(_ entry: Entry, socketID: String) -> Task<Void, Never>? {
        unseeing.remove(entry, from: socketID)
        table.remove(entry, socketID: socketID)
        return settle(entry)
    }

    /// Notifies the services, and then publishes the presence; at once if they need not be notified.
    ///
    /// - Returns: the task that ends when both are done; nil if they are.
    private func settle(_ entry: Entry) -> Task<Void, Never>? {
        let isSeen = !table.sockets(owning: entry).isSubset(of: unseeing.owners(of: entry))
        if let task = services.onLoop({ $0.setOpen(isSeen, entry.member) }) { return task }
        publishPresence(of: entry)
        return nil
    }

    /// Publishes whether anybody's socket here has the room open, unless that is known to gateways and clients.
    private func publishPresence(of entry: Entry) {
        let isOn = table.isOwnedHere(entry)
        if peers.knows(entry) != isOn { peers.publish(entry, isOn: isOn) }
        announceChange(of: entry)
    }

    package func setTyping(_ isTyping: Bool, _ member: RoomMember, socketID: String) {
        guard isTyping else { return stopTyping(member, socketID: socketID) }
        typingTimers.start(
            member, socketID: socketID, after: typingTimeout, on: loop,
            weakly { $0.stopTyping(member, socketID: socketID) })
        let entry = Entry(kind: .typing, member: member)
        if table.add(entry, socketID: socketID) { publish(entry, isOn: true) }
    }

    private func stopTyping(_ member: RoomMember, socketID: String) {
        typingTimers.cancel(member, socketID: socketID)
        let entry = Entry(kind: .typing, member: member)
        if table.remove(entry, socketID: socketID) { publish(entry, isOn: false) }
    }

    /// Returns true if somebody types in the room on a socket of this gateway.
    package func isTyping(in roomID: String) -> Bool { typingTimers.areRunning(in: roomID) }

    /// Ends a person's typing, because the message was sent. Every gateway finds that in the log, and ends
    /// the typing of its own sockets.
    package func endTyping(_ member: RoomMember) {
        for socketID in table.sockets(owning: Entry(kind: .typing, member: member)) {
            stopTyping(member, socketID: socketID)
        }
    }

    /// Returns the people who have these rooms open now.
    package func present(in roomIDs: [String]) -> [String: Set<String>] { table.present(in: roomIDs) }

    // MARK: Services

    /// Handles a service's announcement: if it has a presence subject, it is notified of all rooms that are
    /// open here.
    package nonisolated func learn(_ manifest: Manifest) {
        enqueue { $0.services.onLoop { $0.learn(manifest) } }
    }

    /// Handles the permanent removal of a service: nothing is sent to it any more.
    package nonisolated func forget(service: String) {
        enqueue { $0.services.onLoop { $0.forget(service: service) } }
    }

    // MARK: Other gateways and clients

    /// Publishes a local change to the other gateways, and to clients if it makes a difference.
    private func publish(_ entry: Entry, isOn: Bool) {
        peers.publish(entry, isOn: isOn)
        announceChange(of: entry)
    }

    private func announceChange(of entry: Entry) {
        if let isOn = table.takeChange(of: entry) { announce(Change(entry: entry, isOn: isOn)) }
    }

    private func receive(_ message: PeerMessage) {
        guard message.gateway != gatewayID else { return }
        membership.renew(message.gateway)
        let outcome = peers.receive(message, into: &table)
        if outcome.isSnapshotWanted { sendSnapshot() }
        for entry in outcome.changed { announceChange(of: entry) }
    }

    private func evict(_ gateway: String) {
        log.warning("gateway lost", ["gateway": gateway])
        peers.forget(gateway)
        for entry in table.evict(gateway) { announceChange(of: entry) }
    }

    private func note(_ state: BusState) {
        deafTimer?.cancel()
        deafTimer = nil
        switch state {
        case .connected:
            sendHello()
            sendHeartbeat()
        case .disconnected:
            // The end of others' typing would not arrive, so it ends after the usual time. Their gateways may be
            // alive, so presence stays.
            let endTyping = weakly { presence in
                for entry in presence.table.evictOthers(.typing) { presence.announceChange(of: entry) }
            }
            deafTimer = loop.schedule(after: typingTimeout, endTyping)
        }
    }

    /// Requests the other gateways' snapshots, and publishes this one's.
    private func sendHello() {
        peers.askAll()
        sendSnapshot()
    }

    private func sendHeartbeat() {
        if loop.now - lastHeartbeat > GatewayMembership.shortestLease {
            // This process was held up for so long that services may have treated it as dead. Other gateways that
            // did so request a snapshot by themselves.
            services.onLoop { $0.forgetNotified() }
        }
        lastHeartbeat = loop.now
        peers.sendHeartbeat(at: loop.now)
        services.onLoop { $0.retry() }
        heartbeat?.rearm(after: GatewayMembership.heartbeatInterval)
    }

    private func sendSnapshot() { if peers.beginSnapshot() { sendPart() } }

    private func sendPart() {
        guard peers.sendPart() else { return }
        partTimer = loop.schedule(after: OutgoingSnapshot.partInterval, weakly { $0.sendPart() })
    }
}

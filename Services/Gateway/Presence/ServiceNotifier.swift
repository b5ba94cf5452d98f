import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit

/// Tells services who has rooms open on this gateway, if they have a presence subject.
///
/// They are notified before other gateways and clients, so that their counts are right from then on. A
/// service that was slow or unavailable is notified later: of openings that it missed, and then of the state at that
/// time. Nobody waits for a service that is repeatedly late (`CircuitBreakers`).
actor ServiceNotifier: LoopActor {
    /// The limit of members in one request, far below the bus's longest line.
    private static let maxBatch = 2000
    /// The limit of members whose state a service has yet to receive. Beyond it, an unavailable service is
    /// not informed that people left; the end of this gateway's lease corrects that.
    private static let maxPending = 100_000

    /// The states that a service has yet to receive.
    private struct Pending {
        /// The members whose current state the service may not know.
        var members: Set<RoomMember> = []
        /// Those of them whose opening it may not know. The opening is sent even if the room is closed by then, because
        /// it has an effect of its own: it marks the elements as seen.
        var opened: Set<RoomMember> = []
    }

    nonisolated let loop: EventLoop
    private let gatewayID: String
    private let bus: any MessageBus
    private let log: Logger
    private let timeout: Duration
    private let onNotified: @Sendable (RoomMember, Bool) -> Void
    /// The presence subjects by service.
    private var subjects: [String: String] = [:]
    private var open: Set<RoomMember> = []
    /// The members who had the room open when services were last notified of them.
    private var notified: Set<RoomMember> = []
    private var reconciling: [RoomMember: Task<Void, Never>] = [:]
    private var pending: [String: Pending] = [:]
    private var resyncing: Set<String> = []
    private let breakers = CircuitBreakers()

    /// - Parameters:
    ///   - timeout: the time limit for a service's reply.
    ///   - onNotified: called on the loop when services have been notified of a member's state, before the task of
    ///     `setOpen` ends. A service that is slow or down delays it only until the request times out. For each member, the
    ///     calls have the order of its changes; a change that was reverted meanwhile is left out.
    init(
        gatewayID: String, bus: any MessageBus, on loop: EventLoop, log: Logger, timeout: Duration,
        onNotified: @escaping @Sendable (RoomMember, Bool) -> Void
    ) {
        self.gatewayID = gatewayID
        self.bus = bus
        self.loop = loop
        self.log = log
        self.timeout = timeout
        self.onNotified = onNotified
    }

    /// Records whether a member has the room open here, and notifies the services if they have another state.
    ///
    /// - Returns: the task that ends when they have been notified; nil if they have this state.
    func setOpen(_ isOpen: Bool, _ member: RoomMember) -> Task<Void, Never>? {
        if isOpen { open.insert(member) } else { open.remove(member) }
        if let task = reconciling[member] { return task }
        guard isOpen != notified.contains(member) else { return nil }
        let task = Task { await reconcile(member) }
        reconciling[member] = task
        return task
    }

    /// Sends the member's state until it is current: a change during a request is sent next, so the last
    /// state that a service receives is the current one.
    private func reconcile(_ member: RoomMember) async {
        repeat {
            let isOpen = open.contains(member)
            // They are the same if a change was reverted before this began.
            if isOpen != notified.contains(member) {
                // All at once, as a join waits for the slowest.
                await withDiscardingTaskGroup { group in
                    for subject in subjects.values {
                        group.addTask { await self.notify(subject, member, isOpen: isOpen) }
                    }
                }
                if isOpen { notified.insert(member) } else { notified.remove(member) }
            }
            onNotified(member, isOpen)
        } while open.contains(member) != notified.contains(member)
        reconciling[member] = nil
    }

    private func notify(_ subject: String, _ member: RoomMember, isOpen: Bool) async {
        if breakers.allow(subject, hasTime: true) {
            // A success does not remove the member from `pending`: another instance of the service may still be working
            // on an earlier request, and finish last.
            let isNext = isOpen ? true : await sendMissedOpening(of: member, to: subject)
            if isNext, await ask(subject, [member], isOpen: isOpen) { return }
        }
        // Its service may have been removed meanwhile.
        guard subjects.values.contains(subject) else { return }
        var missed = pending[subject] ?? Pending()
        if missed.members.isEmpty {
            log.warning("a service was not notified of presence, will retry", ["subject": subject])
        }
        // This bounds the number by the limit plus the open rooms.
        if isOpen || missed.members.count < Self.maxPending {
            missed.members.insert(member)
            if isOpen { missed.opened.insert(member) }
        } else {
            missed.members.remove(member)
            missed.opened.remove(member)
        }
        pending[subject] = missed
    }

    /// Sends an opening that the service missed, before the closing that follows it. If it were sent after the closing,
    /// the service would also mark elements as seen that were created after the person had closed the room.
    ///
    /// - Returns: false if the service still misses it.
    private func sendMissedOpening(of member: RoomMember, to subject: String) async -> Bool {
        guard pending[subject]?.opened.contains(member) == true else { return true }
        guard await ask(subject, [member], isOpen: true) else { return false }
        pending[subject]?.opened.remove(member)
        return true
    }

    // MARK: Services

    /// Handles a service's announcement: it is notified of all rooms that are open here, as it may have lost
    /// them.
    func learn(_ manifest: Manifest) {
        let earlier = subjects[manifest.service]
        subjects[manifest.service] = manifest.presenceSubject
        if let earlier, earlier != manifest.presenceSubject { pending[earlier] = nil }
        guard let subject = manifest.presenceSubject else { return }
        // Include the members of requests in progress: those requests were sent before this service
        // was known.
        pending[subject, default: Pending()].members.formUnion(notified.union(open))
        resync(subject)
    }

    /// Handles the permanent removal of a service.
    func forget(service: String) {
        if let subject = subjects.removeValue(forKey: service) { pending[subject] = nil }
    }

    /// Makes the next `retry` send all rooms that are open here again, as the services have treated this
    /// gateway as dead.
    func forgetNotified() {
        for subject in subjects.values { pending[subject, default: Pending()].members.formUnion(notified) }
    }

    /// Notifies each service of the states that it may not have.
    func retry() { for subject in subjects.values { resync(subject) } }

    /// Notifies a service of pending states, until none is left or it does not reply.
    private func resync(_ subject: String) {
        guard pending[subject]?.members.isEmpty == false, resyncing.insert(subject).inserted else { return }
        Task {
            while breakers.allow(subject, hasTime: true), let batch = nextBatch(subject) {
                guard await ask(subject, batch.members, isOpen: batch.isOpen) else { break }
                // A state that has changed meanwhile may have been sent before this one, to another instance:
                // it stays pending.
                pending[subject]?.members.subtract(batch.members.filter { open.contains($0) == batch.isOpen })
                if batch.isOpen { pending[subject]?.opened.subtract(batch.members) }
            }
            resyncing.remove(subject)
        }
    }

    /// Returns the next states to send. A missed opening comes before the closing that followed it.
    private func nextBatch(_ subject: String) -> (members: [RoomMember], isOpen: Bool)? {
        guard let missed = pending[subject], let first = missed.members.first else { return nil }
        let isOpen = { [open] member in open.contains(member) || missed.opened.contains(member) }
        let state = isOpen(first)
        return (Array(missed.members.lazy.filter { isOpen($0) == state }.prefix(Self.maxBatch)), state)
    }

    /// - Returns: true if the service has recorded it.
    private func ask(_ subject: String, _ members: [RoomMember], isOpen: Bool) async -> Bool {
        let data = JSONWriter.object {
            $0.member("gateway", gatewayID)
            $0.member("isOpen", isOpen)
            $0.member("rooms", array: { for member in members { $0.object { member.writeMembers(to: &$0) } } })
        }
        let context = BusContext(
            requestID: "presence", timeout: timeout, key: members.count == 1 ? members[0].roomID : nil)
        let asked = LoopInstant.now()
        do throws(BusError) {
            let reply = try await bus.request(subject, data, context)
            breakers.note(isLate: false, subject, asked: asked)
            if (try? Reply(reply)) != nil { return true }
            log.debug("a service was not notified of presence", ["subject": subject, "error": "\(reply.json)"])
            return false
        } catch {
            breakers.note(isLate: error == .deadlineExceeded, subject, asked: asked)
            log.debug("a service was not notified of presence", ["subject": subject, "error": "\(error)"])
            return false
        }
    }
}

import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit

/// Keeps this gateway's table and the others' in sync. It publishes each change here as it happens, and a
/// snapshot in parts on request, and applies what the others publish.
///
/// A snapshot is sent in parts, with live changes in between, and neither undoes the other. Each part has the
/// state at the time when it is sent. At the end, receivers remove the sender's entries that neither the snapshot nor
/// a change since its beginning has confirmed.
struct PeerSync: Sendable {
    /// The changes that a message causes here.
    struct Outcome {
        /// The entries that other gateways now own, or no longer own.
        var changed: [Presence.Entry] = []
        /// True if this gateway is asked for a snapshot.
        var isSnapshotWanted = false
    }

    private let gatewayID: String
    private let bus: any MessageBus
    private let log: Logger
    private var tracker = PeerTracker()
    /// The number of the last publication with changes of this gateway's entries.
    private var lastNumber = 0
    /// The entries that other gateways know as this one's.
    private var published: Set<Presence.Entry> = []
    private var snapshot: OutgoingSnapshot?

    init(gatewayID: String, bus: any MessageBus, log: Logger) {
        self.gatewayID = gatewayID
        self.bus = bus
        self.log = log
    }

    // MARK: Publishing

    /// True if other gateways know the entry as this one's.
    func knows(_ entry: Presence.Entry) -> Bool { published.contains(entry) }

    mutating func publish(_ entry: Presence.Entry, isOn: Bool) {
        if isOn { published.insert(entry) } else { published.remove(entry) }
        publishNumbered(entry.kind == .presence ? .presence : .typing) {
            PeerMessage.writeChange(entry.member, isOn: isOn, to: &$0)
        }
    }

    /// Publishes this gateway's heartbeat, and requests snapshots from gateways that are out of sync.
    ///
    /// - Parameter time: the instant of the heartbeat, which only this gateway reads.
    mutating func sendHeartbeat(at time: LoopInstant) {
        publish(.alive) {
            $0.member("number", lastNumber)
            $0.member("at", Int(clamping: time.nanoseconds))
        }
        for id in tracker.takeOutOfSync() { ask(id) }
    }

    /// Asks all other gateways for snapshots.
    func askAll() { publish(.hello) { _ in } }

    /// Requests a snapshot from a gateway that is new, or some of whose publications were missed.
    private mutating func ask(_ id: String) {
        tracker.noteAnswering(id)
        publish(.hello) { $0.member("to", id) }
    }

    /// - Returns: true if the caller has to start sending parts; false if they are being sent.
    mutating func beginSnapshot() -> Bool {
        guard snapshot == nil else {
            snapshot?.isWantedAgain = true
            return false
        }
        snapshot = OutgoingSnapshot(of: Array(published))
        return true
    }

    /// Publishes the next part.
    ///
    /// - Returns: true if another one must be sent after `OutgoingSnapshot.partInterval`.
    mutating func sendPart() -> Bool {
        guard var sending = snapshot else { return false }
        // A repeated snapshot starts with the current entries: when it ends, receivers remove all earlier entries that
        // are not in it.
        if sending.isOver { sending = OutgoingSnapshot(of: Array(published)) }
        let number = sending.nextPart
        let part = sending.takePart { published.contains($0) }
        let isSent = publishNumbered(.snapshot) {
            PeerMessage.writePart(number, isLast: sending.isOver, part, to: &$0)
        }
        // A gateway that misses a part requests all of them again.
        snapshot = isSent && (!sending.isOver || sending.isWantedAgain) ? sending : nil
        return snapshot != nil
    }

    @discardableResult
    private mutating func publishNumbered(_ topic: PeerMessage.Topic, _ write: (inout JSONWriter) -> Void) -> Bool {
        lastNumber += 1
        return publish(topic) {
            $0.member("number", lastNumber)
            write(&$0)
        }
    }

    /// - Returns: true if the bus has accepted it.
    @discardableResult
    private func publish(_ topic: PeerMessage.Topic, _ write: (inout JSONWriter) -> Void) -> Bool {
        let data = JSONWriter.object {
            $0.member("gateway", gatewayID)
            write(&$0)
        }
        do throws(BusError) {
            try bus.publish(topic.subject, data)
            return true
        } catch {
            log.warning("presence was not published", ["subject": topic.subject, "error": "\(error)"])
            return false
        }
    }

    // MARK: Receiving

    /// Applies a message of another gateway.
    mutating func receive(_ message: PeerMessage, into table: inout PresenceTable) -> Outcome {
        let id = message.gateway
        let isNew = tracker.note(id)
        var outcome = Outcome()
        switch message.body {
        case nil: break
        case .hello(let addressee):
            // Its snapshot follows.
            if isNew { tracker.noteAnswering(id) }
            outcome.isSnapshotWanted = addressee == nil || addressee == gatewayID
        case .heartbeat(let number):
            if isNew { ask(id) }
            if let number { tracker.confirmLast(number, of: id) }
        case .snapshot(let number, let part):
            tracker.noteAnswering(id)
            tracker.advance(id, to: number)
            outcome.changed = take(part, from: id, into: &table)
        case .change(let number, let entry, let isOn):
            if isNew { ask(id) }
            tracker.advance(id, to: number)
            tracker.confirm(entry, of: id)
            table.set(isOn, entry, byGateway: id)
            outcome.changed = [entry]
        }
        return outcome
    }

    private mutating func take(
        _ part: PeerMessage.SnapshotPart, from id: String, into table: inout PresenceTable
    ) -> [Presence.Entry] {
        if part.isFirst { tracker.beginSnapshot(of: id, known: table.entries(ofGateway: id)) }
        for entry in part.entries {
            tracker.confirm(entry, of: id)
            table.set(true, entry, byGateway: id)
        }
        guard part.isLast else { return part.entries }
        let left = tracker.endSnapshot(of: id)
        for entry in left { table.set(false, entry, byGateway: id) }
        return part.entries + left
    }

    /// Forgets a dead gateway.
    mutating func forget(_ gateway: String) { tracker.remove(gateway) }
}

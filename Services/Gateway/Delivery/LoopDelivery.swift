import ParlorContracts
import ParlorEdge
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorGatewayPresence
import ParlorJSON
import ParlorReactor
import ParlorServiceKit
import ParlorSocketIO
import Synchronization

/// Delivers events to the clients of one loop: those of logs, in each log's order, and presence and typing.
/// It knows the loop's sockets, and how far each log has been fanned out to them. So it holds acks until
/// their event is written, and catches up clients that reconnect.
///
/// It is one type, as each of these needs the same order: what a socket was sent, up to which position of each log, decides
/// what it is sent next, who is acknowledged, and who may get nothing of a room any more. Its state without order has types of
/// its own (`Audience`, `Absences`, `PendingAcks`, `ReplayBuffer`).
package actor LoopDelivery: LoopPart {
    package nonisolated let loop: EventLoop
    private let directory: Directory
    private let events: EventComposer
    private let recovery: Recovery
    private let presence: Presence
    private let globalScope: GlobalScope
    private let gate: OutputGate
    private let metrics: DeliveryMetrics
    private let log: Logger
    /// The number of unanswered requests on this loop.
    private nonisolated let inFlight = Atomic(0)

    let audience = Audience()
    private let acks: PendingAcks
    private(set) var buffer = ReplayBuffer()
    /// The position from which each log is followed.
    private var starts: [LogID: LogPosition] = [:]
    /// The last position of each log that ended because its service was removed.
    private var ends: [LogID: LogPosition] = [:]
    private var badges = BadgeQueue()
    /// Counts what the sockets of rooms that are being joined are sent.
    package var joins = JoinWatch()
    /// The people who may get no event of a room.
    package private(set) var absences = Absences()
    private let lagging: LaggingClients
    private lazy var throttle = makeThrottle()
    private let pacing: BroadcastPacing

    package nonisolated var delivery: LoopDelivery { self }
    /// The limit for holding an ack. The log may be stuck, but the write is done.
    static let maxHold: Duration = .seconds(2)

    package init(
        on loop: EventLoop, directory: Directory, events: EventComposer, recovery: Recovery, presence: Presence,
        globalScope: GlobalScope, gate: OutputGate, pacing: BroadcastPacing, metrics: DeliveryMetrics, log: Logger
    ) {
        self.loop = loop
        self.directory = directory
        self.events = events
        self.recovery = recovery
        self.presence = presence
        self.globalScope = globalScope
        self.gate = gate
        self.pacing = pacing
        self.metrics = metrics
        self.log = log
        acks = PendingAcks(on: loop, log: log)
        lagging = LaggingClients(of: audience, on: loop)
    }

    private func makeThrottle() -> BroadcastThrottle<Audience> {
        BroadcastThrottle(on: loop, to: audience, pacing) { [weak self] in self?.isBusy ?? false }
    }

    // MARK: Requests in progress

    /// Notes that a request on this loop is in progress; `endWork` follows when it is answered.
    package nonisolated func beginWork() { inFlight.add(1, ordering: .relaxed) }

    package nonisolated func endWork() {
        guard inFlight.subtract(1, ordering: .relaxed).newValue == 0 else { return }
        onLoop { $0.throttle.endPauseIfAllIsDone() }
    }

    private nonisolated var isBusy: Bool { inFlight.load(ordering: .relaxed) > 0 }

    /// Notes that a client connected, joined a room or sent an HTTP request.
    package func noteVisit() { throttle.noteVisit() }

    // MARK: Subscribers

    /// Adds a subscriber to the audience. From now on it receives all events. Does nothing if it has left: nobody would
    /// remove it again.
    package func admit(_ subscriber: Subscriber.Handle) {
        let subscriber = subscriber.object
        guard subscriber.isConnected else { return }
        subscriber.seen = acks.reached
        subscriber.unfollowed = unfollowedLogs
        audience.add(subscriber)
    }

    /// Removes a subscriber that has left, or whose socket has closed.
    package func remove(_ subscriber: Subscriber.Handle) { audience.remove(subscriber.object) }

    /// Adds a subscriber to a room's audience at once, unless it has left, or its person has left the room since the version of
    /// the record that admitted them. If it came with a cursor, the events it missed have been sent.
    func join(_ roomID: String, _ subscriber: Subscriber, recordVersion: Int) {
        guard subscriber.isConnected, absences.admit(subscriber.caller.id, to: roomID, recordVersion: recordVersion)
        else {
            return
        }
        subscriber.continuations?.join(roomID)
        audience.join(roomID, subscriber, recordVersion: recordVersion)
    }

    /// Notes that Rooms' record of this version has the person, also if the entry that says so has not come yet.
    func noteRecord(_ version: Int, of userID: String, in roomID: String) {
        absences.noteRecord(version, of: userID, in: roomID, after: position(of: .rooms)?.seq ?? 0)
    }

    package func leave(_ roomID: String, _ subscriber: Subscriber.Handle) {
        let subscriber = subscriber.object
        if subscriber.hasJoined(roomID) {
            subscriber.continuations?.leave(roomID, at: SyncCursor(buffer.positions))
        }
        audience.leave(roomID, subscriber)
        // If it joins again, what happens meanwhile is in the Room that it gets.
        subscriber.pendingChanges = subscriber.pendingChanges.filter { $0.key.member.roomID != roomID }
    }

    /// Catches a subscriber up from the cursor it came with. Then it receives all events, unless it has
    /// closed.
    package func recover(_ subscriber: Subscriber.Handle, since cursor: JSONValue, from address: IPAddress) async {
        audience.recovering.append(subscriber.object)
        await recovery.recover(subscriber.object, since: cursor, from: address, on: self)
        audience.recovering.removeAll { $0 === subscriber.object }
    }

    /// Adds a subscriber to a room's audience, after which it misses no event of the room. If it came with a
    /// cursor, it first gets the room's events since it left the room, or since `sync:done`.
    ///
    /// - Parameter version: that of the record that admits the person. If they have left since, nothing happens.
    package func joinAudience(
        of roomID: String, _ subscriber: Subscriber.Handle, recordVersion version: Int, by deadline: LoopInstant
    ) async {
        await recovery.join(roomID, subscriber.object, recordVersion: version, by: deadline, on: self)
    }

    /// The logs that services are known to have, but that are not followed yet.
    var unfollowedLogs: Set<LogID> {
        Set(directory.catalog.logs.filter { buffer.position(of: $0) == nil })
    }

    // MARK: Events to clients

    /// Sends the events of a log's entries to their sockets. The loop combines the events of a turn into one
    /// write for each socket, and copies a broadcast only once.
    func deliver(_ broadcasts: [Broadcast]) {
        for broadcast in broadcasts {
            if broadcast.position.log == .rooms { end(broadcast.entry) }
            for item in concerns(broadcast) ? broadcast.items : [] {
                if let packet = item.packet {
                    send(packet, to: item.emission.audience, of: broadcast)
                } else {
                    compose(item, of: broadcast)
                }
            }
            joins.note(broadcast)
            metrics.noteSent(broadcast.entry)
            buffer.append(broadcast)
            for ack in acks.reach(broadcast.position) { ack.release() }
        }
    }

    /// Returns false if no socket of this loop is sent an event of the entry. Its events are then not decoded.
    private func concerns(_ broadcast: Broadcast) -> Bool {
        if globalScope == .everyone, !audience.everyone.isEmpty { return true }
        return audience.hasRoom(broadcast.roomID) || broadcast.participants.contains(where: audience.hasPerson)
            || broadcast.namedPeople.contains(where: audience.hasPerson)
    }

    func deliver(_ change: Presence.Change) { lagging.send(change) }

    /// Starts with a log after this position; earlier entries are not sent any more.
    func start(_ logID: LogID, after position: LogPosition) {
        let isAnother =
            starts.updateValue(position, forKey: logID) != nil || hasGrown(logID, to: position) || hasReplaced(logID)
        buffer.start(logID, after: position)
        absences.start(logID, after: position)
        let passed = acks.reach(EntryPosition(log: logID, seq: position.seq))
        for subscriber in audience.everyone where isAnother || subscriber.unfollowed.contains(logID) {
            // The client got entries of a log that was replaced since, or missed entries before the start. It
            // reconnects with its cursor, and is caught up correctly.
            subscriber.socket.closeTransport()
        }
        // Release the acks after the sockets are closed, so that none is sent: these clients have
        // not got the event. They get it after they reconnect.
        for ack in passed { ack.release() }
    }

    /// Returns true if a log that has ended got entries since. Connected clients were not sent them.
    private func hasGrown(_ logID: LogID, to position: LogPosition) -> Bool {
        guard let end = ends.removeValue(forKey: logID) else { return false }
        return end.databaseID == position.databaseID && end.seq < position.seq
    }

    /// Returns true if the log's service had those of another generation. Their last entries were perhaps not sent.
    private func hasReplaced(_ logID: LogID) -> Bool {
        let generation = LogLayout.place(of: logID.number).generation
        let old = ends.keys.filter {
            $0.service == logID.service && LogLayout.place(of: $0.number).generation != generation
        }
        for logID in old { ends[logID] = nil }
        return !old.isEmpty
    }

    /// Ends a log, whose service was removed or has other logs. If the same log starts again with new entries, the connected
    /// sockets are closed; otherwise they stay connected.
    func end(_ logID: LogID) {
        // Bound the number of ended logs. A forgotten one counts as unchanged when it starts again.
        if ends.count >= Directory.maxServices { ends = [:] }
        // One that was never known, too: sockets were admitted without it.
        ends[logID] = buffer.position(of: logID) ?? .unknown
        buffer.end(logID)
        starts[logID] = nil
        for subscriber in audience.everyone {
            subscriber.seen[logID] = nil
            subscriber.unfollowed.remove(logID)
            subscriber.liveness.noteEnd(of: logID)
        }
        for ack in acks.end(logID) { ack.release() }
    }

    /// Adds the entries that a log had before the position from which it is followed.
    func backfill(_ logID: LogID, _ entries: [Broadcast], from start: LogPosition, to end: LogPosition) {
        buffer.backfill(logID, entries, from: start, to: end)
    }

    /// Sends the pending events, and later ones at once, as the sockets are about to be closed.
    package func endPauses() { throttle.end() }

    private func send(_ packet: OutgoingPacket, to recipients: Emission.Audience, of broadcast: Broadcast) {
        switch recipients {
        case .room:
            let subscribers = audience.receivers(of: broadcast.roomID, audience.room(broadcast.roomID))
            guard !subscribers.isEmpty else { return }
            // An entry names those who may have its events. Whoever has left is in none that was committed afterwards.
            let people = broadcast.people(for: subscribers.count)
            for subscriber in subscribers where people.contains(subscriber.caller.id) {
                subscriber.socket.send(packet)
            }
            throttle.noteWrites(to: subscribers.count)
        case .person(let id):
            for subscriber in receivers(id, in: broadcast.roomID) { subscriber.socket.send(packet) }
        case .everyone:
            switch globalScope {
            case .everyone:
                throttle.broadcast(packet)
            case .participants:
                for id in broadcast.participants {
                    for subscriber in receivers(id, in: broadcast.roomID) { subscriber.socket.send(packet) }
                }
            }
        }
    }

    /// Returns the sockets of a person that get an event of a room.
    private func receivers(_ userID: String, in roomID: String) -> [Subscriber] {
        absences.has(userID, in: roomID) ? [] : audience.receivers(of: roomID, audience.person(userID))
    }

    // MARK: Composed events

    /// Completes an event with the fields that only a gateway can fill in, then sends it to its person.
    private func compose(_ item: Broadcast.Item, of broadcast: Broadcast) {
        let event = Replay.Event(item: item, roomID: broadcast.roomID)
        guard case .person(let id) = item.emission.audience, !receivers(id, in: event.roomID).isEmpty else { return }
        guard item.emission.composition != .room else {
            return send(events.newRoom(item.emission.data), of: event, to: id, broadcast.position)
        }
        guard badges.add(.init(event: event, position: broadcast.position), for: id) else { return }
        startTask { delivery in
            while let next = delivery.badges.next(for: id) {
                let data = await delivery.events.composed(next.event, for: id)
                delivery.send(data, of: next.event, to: id, next.position)
                delivery.badges.removeNext(for: id)
            }
        }
    }

    /// Sends to the sockets that were in the audience when the entry was fanned out. Later ones have been
    /// caught up with it, or had no cursor.
    private func send(_ data: JSONValue?, of event: Replay.Event, to userID: String, _ position: EntryPosition) {
        let name = event.item.emission.event
        let receivers = receivers(userID, in: event.roomID).filter { $0.seen[position.log] ?? 0 < position.seq }
        guard !receivers.isEmpty else { return }
        guard let data else { return log.error("an event could not be composed", ["event": name]) }
        let packet = OutgoingPacket.event(name, [data])
        for subscriber in receivers { subscriber.socket.send(packet) }
    }

    // MARK: People who come and go

    var isCaughtUp: Bool { absences.isCaughtUp }

    /// Applies a change of a room's people before it is complete: who leaves gets nothing of the room any more.
    ///
    /// - Returns: false if it is known to be complete.
    func apply(_ change: PeopleChange) -> Bool {
        guard absences.note(change) else { return false }
        evict(change.left.map(\.userID))
        return true
    }

    /// Applies changes that were missed while this gateway had no lease.
    ///
    /// - Returns: false if they are of another log of Rooms than this loop follows.
    func apply(_ missed: OutputLease.UnappliedChanges) -> Bool {
        guard let left = absences.catchUp(with: missed) else { return false }
        audience.isCutOff = false
        evict(left)
        Audience.abandonWaiting(audience.sockets(of: left))
        return true
    }

    /// Lets events of rooms be queued again, as the output is held until `apply` or `cut`, which close the sockets of who left.
    func endCut() { audience.isCutOff = false }

    /// Ends the use of what is in memory, and sends nothing of rooms any more. Closes the sockets whose output waits; with
    /// `closingAll` all of them.
    func cut(closingAll: Bool = false) {
        // A loop that follows no log of Rooms knows of no changes that it could miss.
        guard position(of: .rooms) != nil else { return }
        let mayHaveWaiting = !audience.isCutOff
        absences.lose()
        audience.isCutOff = true
        guard closingAll || mayHaveWaiting else { return }
        Audience.abandonWaiting(audience.everyone + audience.recovering, orAll: closingAll)
    }

    /// Applies a change that is complete.
    private func end(_ entry: LogEntry) {
        guard let change = entry.fact?.peopleChanged, absences.note(entry) else { return }
        evict(change.left)
        // Held output is from before the change.
        if !gate.isOpen { Audience.abandonWaiting(audience.sockets(of: change.left)) }
    }

    /// Removes people's sockets from the rooms that these people have left since they joined.
    private func evict(_ userIDs: [String]) {
        for subscriber in userIDs.flatMap(audience.person) {
            for (roomID, version) in subscriber.rooms
            where !absences.admit(subscriber.caller.id, to: roomID, recordVersion: version) {
                leave(roomID, Subscriber.Handle(subscriber, to: loop))
                let (member, id) = (RoomMember(roomID: roomID, userID: subscriber.caller.id), subscriber.id)
                // In the order of the socket's next join.
                presence.enter { $0.remove(member, socketID: id) }
            }
        }
    }

    func drain(_ userIDs: [String]) async { await OutputDrain(audience.sockets(of: userIDs)).finish(on: self) }

    // MARK: Acks after their event

    /// Calls a closure once this loop has sent the entry at the position to its sockets; at once if it already
    /// has. So an event reaches the client that caused it before the ack does. The wait is limited by
    /// `maxHold` and the deadline.
    package func afterFanout(
        of position: EntryPosition?, by deadline: LoopInstant, _ goOn: @escaping () -> Void
    ) {
        guard let position, !acks.hasReached(position) else { return goOn() }
        directory.expect(position)
        acks.hold(goOn, until: position, for: min(Self.maxHold, deadline - .now()))
    }

    /// Waits for the fan-out of a position, like `afterFanout`.
    package func fannedOut(_ position: EntryPosition?, by deadline: LoopInstant) async {
        guard let position, !acks.hasReached(position) else { return }
        await withCheckedContinuation { continuation in
            afterFanout(of: position, by: deadline) { continuation.resume() }
        }
    }

    /// Returns once the log is followed, or at the deadline; at once if no service is known to have it.
    func start(of logID: LogID, by deadline: LoopInstant) async {
        guard buffer.position(of: logID) == nil, directory.catalog.logs.contains(logID) else { return }
        await withCheckedContinuation { continuation in
            acks.hold(
                { continuation.resume() }, until: EntryPosition(log: logID, seq: PendingAcks.anyStart),
                for: deadline - .now())
        }
    }

    // MARK: Positions and evidence

    /// The position up to which each log was fanned out.
    package var positions: [LogID: LogPosition] { buffer.positions }

    func position(of logID: LogID) -> LogPosition? { buffer.position(of: logID) }

    /// Returns a socket's earlier cursor with exactly the logs that are followed now. A log that started later is
    /// set to its start, as it had sent the socket nothing before. Logs that have ended are left out.
    func adapted(_ cursor: SyncCursor) -> SyncCursor {
        SyncCursor(
            logs: Dictionary(
                uniqueKeysWithValues: starts.map { ($0.key, cursor.logs[$0.key] ?? .init(position: $0.value)) }))
    }

    /// Notes that a ping is sent to the client, after everything that was sent before.
    package func notePing(to subscriber: Subscriber.Handle) { subscriber.object.liveness.notePing(after: acks.reached) }

    /// Returns the sockets of this loop that have joined each of the rooms for the given person.
    func evidence(for request: OpenRoomsRequest) -> [[SocketEvidence]] {
        let layout = directory.catalog.manifests[request.log.service]?.logLayout ?? .single
        return request.members.map { audience.evidence(for: $0, ofLogsOf: request.log.service, layout) }
    }
}

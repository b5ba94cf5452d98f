import Contracts
import Edge
import EventLog
import JSON
import MessageBus
import Reactor
import ServiceKit
import SocketIO

private struct PendingBadges {
    let event: Replay.Event
    let position: StreamPosition
}

/// One loop's share of the gateway: its clients, and what reaches them.
///
/// Presence and typing are in `Shard+Signs.swift`, `:global` events in `Shard+Globals.swift`, requests in `Shard+Requests.swift`,
/// sockets' events in `Shard+Events.swift`, those for services in `Shard+Asking.swift`, joining and leaving in `Shard+Rooms.swift`.
actor Shard {
    nonisolated let loop: EventLoop
    nonisolated let context: GatewayContext
    var audience = Audience()
    private var held = HeldAnswers()
    var recent = RecentEntries()
    var behind = ClientsBehind()
    var globals = WaitingGlobals()
    var clients = ClientTable()
    /// What was asked of this loop's gateway and is not answered yet.
    private(set) var underWay = 0
    private var lastHeld = 0
    /// Badges of each person that wait to be composed, one after the other, so that their order is the log's.
    private var composing: [String: [PendingBadges]] = [:]
    private var lastClient = 0
    /// Numbers the events of this loop's sockets, for the request ids in logs.
    var lastEvent = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// An answer is not held back for longer: the stream may be stuck, but what was written is written.
    static let maxHold: Duration = .seconds(2)
    /// Badges of one person that may wait while a service is slow. Beyond, the later ones of a room stand for the earlier.
    static let maxComposing = 256

    init(on loop: EventLoop, _ context: GatewayContext) {
        self.loop = loop
        self.context = context
    }

    func makeClientID() -> String {
        lastClient += 1
        return "\(loop.index).\(lastClient)"
    }

    /// Starts a task on the loop, after those that were started before. Its child tasks run on the loop, too.
    ///
    /// The runtime resumes a continuation's task on the executor that the task prefers, and from there takes it back to its actor. Where
    /// none is preferred, that is a thread of the global pool: two threads are woken for nothing, once for each answer.
    func startTask(_ work: @escaping @Sendable (isolated Shard) async -> Void) {
        beginWork()
        Task(executorPreference: loop) { await self.finish(work) }
    }

    private func finish(_ work: @Sendable (isolated Shard) async -> Void) async {
        await work(self)
        endWork()
    }

    func beginWork() { underWay += 1 }

    func endWork() {
        underWay -= 1
        if underWay == 0 { endPauseIfAllIsDone() }
    }

    // MARK: Events to clients

    /// Sends what a stream brought. A message is written to each socket in turn, so that the loop joins a turn's messages
    /// to a socket into one write, and copies a message that goes to many once.
    func deliver(_ broadcasts: [Broadcast]) {
        for broadcast in broadcasts {
            for item in broadcast.items {
                if let packet = item.packet {
                    send(packet, to: item.emission.audience, of: broadcast)
                } else {
                    compose(item, of: broadcast)
                }
            }
            context.measured.noteSent(broadcast.entry)
            recent.append(broadcast)
            for answer in held.reach(broadcast.position) { answer.release() }
        }
    }

    /// A stream starts after this position: what stands before it is not sent any more.
    func start(_ stream: String, after place: LogPosition) {
        let isAnother = recent.place(of: stream) != nil
        recent.start(stream, after: place)
        let passed = held.reach(StreamPosition(stream: stream, seq: place.seq))
        for client in audience.everyone {
            if isAnother || client.unfollowed.contains(stream) {
                // What it was told is of a past that is no more, or it was not told of what came before the start: it comes
                // back with its cursor, and learns which.
                client.socket.closeTransport()
            } else {
                client.continuesFrom?.places[stream] = .init(bookmark: place)
            }
        }
        // Now, so that none reaches a socket that is closed: it was not told of the event, which it finds when it is back.
        for answer in passed { answer.release() }
    }

    /// Adds what a stream told before it was followed from a place.
    func backfill(_ stream: String, _ entries: [Broadcast], from start: LogPosition, to end: LogPosition) {
        recent.backfill(stream, entries, from: start, to: end)
    }

    /// A client is told of everything from here on.
    func admit(_ client: Client) {
        client.seen = held.reached
        client.unfollowed = unfollowedStreams
        audience.add(client)
    }

    /// Logs that services are known to have, but that are not followed yet.
    var unfollowedStreams: Set<String> {
        Set(context.directory.catalog.streams.filter { recent.place(of: $0) == nil })
    }

    private func send(_ packet: OutgoingPacket, to recipients: Emission.Audience, of broadcast: Broadcast) {
        switch recipients {
        case .room:
            for client in audience.room(broadcast.roomID) { client.socket.send(packet) }
        case .person(let id):
            for client in audience.person(id) { client.socket.send(packet) }
        case .everyone:
            switch context.settings.globalScope {
            case .everyone:
                tellEveryone(packet)
            case .participants:
                for id in broadcast.participants { for client in audience.person(id) { client.socket.send(packet) } }
            }
        }
    }

    /// Fills in what only a gateway can, then sends it to the person it is for.
    private func compose(_ item: Broadcast.Item, of broadcast: Broadcast) {
        guard case .person(let id) = item.emission.audience, let caller = audience.person(id).first?.caller else {
            return
        }
        let event = Replay.Event(item: item, roomID: broadcast.roomID)
        guard item.emission.composition == .badges else {
            return send(context.composer.data(of: event, [:]), of: item.emission, to: id, broadcast.position)
        }
        let pending = PendingBadges(event: event, position: broadcast.position)
        guard composing[id]?.append(pending) == nil else {
            if let count = composing[id]?.count, count > Self.maxComposing {
                // The first is being composed already.
                let earlier = composing[id]?[1..<(count - 1)].firstIndex { $0.event.roomID == event.roomID }
                if let earlier { composing[id]?.remove(at: earlier) }
            }
            return
        }
        composing[id] = [pending]
        startTask { shard in
            while let next = shard.composing[id]?.first {
                let composer = shard.context.composer
                let badges = await composer.otherBadges(for: [next.event], of: caller)
                let data = composer.data(of: next.event, badges)
                shard.send(data, of: next.event.item.emission, to: id, next.position)
                shard.composing[id]?.removeFirst()
                if shard.composing[id]?.isEmpty == true { shard.composing[id] = nil }
            }
        }
    }

    /// To those who were there when the entry was fanned out: who came later has been caught up with it, or never asked.
    private func send(_ data: JSONValue?, of emission: Emission, to userID: String, _ position: StreamPosition) {
        guard let data else { return context.log.error("an event could not be composed", ["event": emission.event]) }
        let packet = OutgoingPacket.event(emission.event, [data])
        for client in audience.person(userID) where client.seen[position.stream] ?? 0 < position.seq {
            client.socket.send(packet)
        }
    }

    // MARK: Pings

    func notePing(on socket: Socket) {
        guard let client = socket.context as? Client else { return }
        client.life.notePing(after: held.reached)
    }

    func noteAnsweredPing(on socket: Socket) {
        guard let client = socket.context as? Client else { return }
        client.life.noteAnswer(at: loop.now)
    }

    // MARK: Answers after their echo

    /// Goes on when this loop's sockets have been sent what stands at that position, maybe at once: so what a client caused
    /// reaches it before the answer does. It waits for `maxHold` at most, and not beyond the deadline.
    func whenFannedOut(_ position: StreamPosition?, by deadline: LoopInstant, _ goOn: @escaping () -> Void) {
        guard let position, !held.hasReached(position) else { return goOn() }
        context.directory.expect(position)
        lastHeld += 1
        let id = lastHeld
        let patience = min(Self.maxHold, deadline - .now())
        let timer = loop.schedule(after: patience) { [weak self] in
            self?.assumeIsolated { $0.giveUp(on: position, id, after: patience) }
        }
        held.hold(.init(id: id, timer: timer, goOn: goOn), until: position)
    }

    /// The same for a task.
    func fannedOut(_ position: StreamPosition?, by deadline: LoopInstant) async {
        guard let position, !held.hasReached(position) else { return }
        await withCheckedContinuation { continuation in
            whenFannedOut(position, by: deadline) { continuation.resume() }
        }
    }

    private func giveUp(on position: StreamPosition, _ id: Int, after patience: Duration) {
        guard let answer = held.remove(id, at: position) else { return }
        context.log.warning(
            "an answer comes before its event",
            ["stream": position.stream, "seq": position.seq, "ms": patience.milliseconds])
        answer.release()
    }
}

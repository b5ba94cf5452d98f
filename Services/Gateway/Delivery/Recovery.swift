import ParlorContracts
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorSocketIO

extension EventDescription {
    package static let syncDone = EventDescription(
        "sync:done", to: .socket, "The events since the cursor of CONNECT were sent, or cannot be.",
        .object(["recovered": .boolean, "cursor": .string]))
}

/// Catches up sockets that reconnect: it sends the missed events, then `sync:done`, then live events, with
/// nothing lost or duplicated in between.
///
/// The socket is in no audience while it is caught up. Events that are fanned out meanwhile are missed as
/// well, and sent in another round. When a round finds nothing, the socket becomes live at once, without
/// any suspension. (Even the return from an async method of the same actor may suspend.)
package struct Recovery: Sendable {
    private let cursors: SyncCursorCodec
    private let missed: EntryFetcher
    private let events: EventComposer
    private let limits: Limits
    /// The limit of the wait for a log or its owner. It leaves the socket's requests, which wait meanwhile, a quarter of their time.
    private let patience: Duration
    private let log: Logger
    /// The size of a socket's queue below which its replay continues.
    private let maxBacklog: Int

    /// The limit of events replayed to a socket. Beyond it, reloading is cheaper for both sides.
    private static let maxReplayed = 10_000
    private static let pageSize = 500
    private static let pageBytes = 1 << 20
    /// The interval at which a socket's queue is checked.
    private static let backlogInterval: Duration = .milliseconds(20)
    /// The pause between two requests to a log's owner that is unavailable.
    private static let retryInterval: Duration = .milliseconds(250)

    /// - Parameter maxUnsentBytes: the size of a socket's queue at which it is closed. The backlog, a replay from
    ///   memory and one large event together have to stay below it.
    package init(
        cursors: SyncCursorCodec, missed: EntryFetcher, events: EventComposer, limits: Limits,
        requestTimeout: Duration, maxUnsentBytes: Int, log: Logger
    ) {
        self.cursors = cursors
        self.missed = missed
        self.events = events
        self.limits = limits
        patience = requestTimeout * 3 / 4
        self.log = log
        maxBacklog = min(128 << 10, maxUnsentBytes / 4)
    }

    /// Catches a subscriber up from the cursor that it sent. Then it belongs to the audience, unless it has
    /// closed.
    ///
    /// Its requests wait meanwhile. So if entries cannot be fetched within `patience`, the replay
    /// ends, and the client is informed that it has to reload. The same applies to a log that is not followed yet.
    func recover(
        _ subscriber: Subscriber, since given: JSONValue, from address: IPAddress, on delivery: isolated LoopDelivery
    ) async {
        let userID = subscriber.caller.id
        let deadline = LoopInstant.now() + patience
        if let cursor = given.string.flatMap({ cursors.decode($0, for: userID) }),
            limits.mayRecover(userID, from: address)
        {
            let isReplayed = await replay(to: subscriber, from: cursor, .person, by: deadline, on: delivery) {
                goLive(subscriber, isRecovered: true, on: delivery)
            }
            if isReplayed { return }
        }
        if subscriber.isConnected { goLive(subscriber, isRecovered: false, on: delivery) }
    }

    private func goLive(_ subscriber: Subscriber, isRecovered: Bool, on delivery: isolated LoopDelivery) {
        delivery.admit(Subscriber.Handle(subscriber, to: delivery.loop))
        sendDone(to: subscriber, isRecovered, on: delivery)
    }

    /// Adds a subscriber to a room's audience. If it came with a cursor, it first gets the room's events
    /// since it left the room, or since `sync:done`.
    func join(
        _ roomID: String, _ subscriber: Subscriber, recordVersion version: Int, by deadline: LoopInstant,
        on delivery: isolated LoopDelivery
    ) async {
        delivery.noteRecord(version, of: subscriber.caller.id, in: roomID)
        if !subscriber.hasJoined(roomID), let continuations = subscriber.continuations {
            if let cursor = continuations.cursor(of: roomID) {
                let isReplayed = await replay(
                    to: subscriber, from: delivery.adapted(cursor), .room(roomID), by: deadline, on: delivery
                ) { delivery.join(roomID, subscriber, recordVersion: version) }
                if isReplayed { return }
            }
            if subscriber.isConnected { sendDone(to: subscriber, false, on: delivery) }
        }
        if subscriber.isConnected { delivery.join(roomID, subscriber, recordVersion: version) }
    }

    /// Sends `sync:done`. Rooms that the subscriber joins later continue from this position: it has the earlier events,
    /// or reloads.
    private func sendDone(to subscriber: Subscriber, _ isRecovered: Bool, on delivery: isolated LoopDelivery) {
        let positions = delivery.positions
        subscriber.continuations = RoomContinuations(from: SyncCursor(positions))
        let cursor = cursors.encode(
            SyncCursor(positions, unknown: subscriber.unfollowed), for: subscriber.caller.id)
        subscriber.socket.emit(
            "sync:done",
            JSONWriter.object {
                $0.member("recovered", isRecovered)
                $0.member("cursor", cursor)
            })
    }

    // MARK: Replaying

    /// - Parameter finish: called when everything was sent, before anything else can be fanned out.
    /// - Returns: true if `finish` was called. False if an entry cannot be fetched, if there are too many
    ///   events, or if the socket has closed.
    private func replay(
        to subscriber: Subscriber, from start: SyncCursor, _ scope: Replay.Scope, by deadline: LoopInstant,
        on delivery: isolated LoopDelivery, then finish: () -> Void
    ) async -> Bool {
        guard await hasReached(start, by: deadline, on: delivery) else { return false }
        let userID = subscriber.caller.id
        var cursor = start
        var count = 0
        var deadline = deadline
        while subscriber.isConnected {
            if let packets = remembered(since: cursor, by: subscriber, scope, on: delivery) {
                count += packets.count
                guard count <= Self.maxReplayed else { return false }
                for packet in packets { subscriber.socket.send(packet) }
                // Sending may have closed the socket, if too much waits for its client.
                guard subscriber.isConnected else { return false }
                finish()
                return true
            }
            guard
                var replay = Replay(
                    from: cursor, to: delivery.positions, for: userID, scope, limit: Self.pageSize,
                    maxBytes: Self.pageBytes)
            else { return false }
            var isMore = true
            var source = Source(came: delivery.absences.arrivals(of: userID, since: cursor))
            if case .room(let id) = scope { source.rooms = [id] }
            while isMore {
                guard
                    let page = await nextPage(of: &replay, for: subscriber, &source, by: deadline, on: delivery)
                else { return false }
                count += page.events.count
                guard count <= Self.maxReplayed else { return false }
                guard await send(page.events, to: subscriber, on: delivery) else { return false }
                // Extend the deadline: time spent on a slow reader must not count against the logs' owners.
                deadline = max(deadline, .now() + patience)
                isMore = page.isMore
            }
            cursor = replay.cursor
        }
        return false
    }

    /// Requests a page from services, which is heavy: the person's slot is held until the page has arrived.
    /// It is free again while the page is sent, at the reader's speed.
    private func nextPage(
        of replay: inout Replay, for subscriber: Subscriber, _ source: inout Source, by deadline: LoopInstant,
        on delivery: isolated LoopDelivery
    ) async -> Replay.Page? {
        guard let slot = await heavySlot(of: subscriber.caller.id, by: deadline, on: delivery), subscriber.isConnected
        else { return nil }
        defer { withExtendedLifetime(slot) {} }
        return await fetchPage(of: &replay, for: subscriber, &source, by: deadline, on: delivery)
    }

    private func heavySlot(
        of userID: String, by deadline: LoopInstant, on delivery: isolated LoopDelivery
    ) async -> RequestSlots.Slot? {
        do throws(ServiceError) {
            return try await limits.enterHeavy(userID, on: delivery.loop, by: deadline)
        } catch {
            return nil
        }
    }

    /// Returns all events that a client has missed until now, if this loop's buffer contains them and they
    /// may be sent at once. This applies to nearly all clients that reconnect after a short absence. They are
    /// sent without suspending. Otherwise, with thousands of reconnecting clients, new events would arrive
    /// between rounds, and no replay would end.
    private func remembered(
        since cursor: SyncCursor, by subscriber: Subscriber, _ scope: Replay.Scope, on delivery: isolated LoopDelivery
    ) -> [OutgoingPacket]? {
        let userID = subscriber.caller.id
        guard
            let came = delivery.absences.arrivals(of: userID, since: cursor),
            var replay = Replay(
                from: cursor, to: delivery.positions, for: userID, scope, limit: Self.pageSize,
                maxBytes: maxBacklog)
        else { return nil }
        while true {
            switch replay.next() {
            case .fetch(let logID, let since, let through):
                let found = delivery.buffer.entries(of: logID, since: since, for: userID, ofRooms: came)
                guard case .found(let entries) = found else { return nil }
                replay.supply(logID, entries, ofRooms: came, through: through)
            case .page(let page):
                let visible = page.events.filter { !delivery.absences.has(userID, in: $0.roomID) }
                let packets = visible.compactMap(\.item.packet)
                // Events without a packet have to be composed first.
                guard !page.isMore, packets.count == visible.count else { return nil }
                return packets.isEmpty || subscriber.socket.unsentCost <= maxBacklog ? packets : nil
            }
        }
    }

    /// Returns true once this loop has fanned out up to a cursor's positions. A log in the cursor may not be followed
    /// yet, if its service has been down since this gateway started. Then the method waits for the log until the
    /// deadline. The cursor may also come from a gateway that was ahead of this one. Then the method waits up to
    /// `maxHold`, for all logs together.
    private func hasReached(
        _ cursor: SyncCursor, by deadline: LoopInstant, on delivery: isolated LoopDelivery
    ) async -> Bool {
        func isBehind(_ logID: LogID, _ state: SyncCursor.LogState) -> Bool? {
            guard let here = delivery.position(of: logID), here.databaseID == state.position.databaseID else {
                return nil
            }
            return here.seq < state.position.seq
        }
        let logs = cursor.logs.filter { $0.value.position != .unknown }
        for logID in logs.keys { await delivery.start(of: logID, by: deadline) }
        var behind: [EntryPosition] = []
        for (logID, state) in logs {
            guard let isBehind = isBehind(logID, state) else { return false }
            if isBehind { behind.append(EntryPosition(log: logID, seq: state.position.seq)) }
        }
        let deadline = min(deadline, LoopInstant.now() + LoopDelivery.maxHold)
        for position in behind {
            guard .now() < deadline else { return false }
            await delivery.fannedOut(position, by: deadline)
        }
        return logs.allSatisfy { isBehind($0.key, $0.value) == false }
    }

    /// Where the entries of a round come from.
    private struct Source {
        /// The rooms to which the person has come since the cursor; nil if that is not known, and memory is not used.
        let came: Set<String>?
        /// The rooms whose entries are requested. They are found once, when the end positions are known.
        var rooms: [String]?
    }

    /// - Returns: nil if a part cannot be fetched, or if the socket has closed: the person's next one needs the slot.
    private func fetchPage(
        of replay: inout Replay, for subscriber: Subscriber, _ source: inout Source, by deadline: LoopInstant,
        on delivery: isolated LoopDelivery
    ) async -> Replay.Page? {
        let caller = subscriber.caller
        while subscriber.isConnected {
            switch replay.next() {
            case .page(let page): return page
            case .fetch(let logID, let since, let through):
                switch delivery.buffer.entries(of: logID, since: since, for: caller.id, ofRooms: source.came ?? []) {
                case .found(let entries) where source.came != nil:
                    replay.supply(logID, entries, ofRooms: source.came, through: through)
                case .unknown: return nil
                case .older, .found:
                    do throws(ServiceError) {
                        if source.rooms == nil { source.rooms = try await missed.rooms(of: caller, by: deadline) }
                        guard
                            let found = try await missed.entries(
                                of: logID, since: since, through: through, ofRooms: source.rooms ?? [], for: caller,
                                by: deadline)
                        else { return nil }
                        replay.supply(
                            logID, found.entries, through: found.through,
                            sending: missed.emitters.filter(of: logID.service))
                    } catch {
                        // If a log's owner is only restarting, the client should not have to reload
                        // everything.
                        if error.code.isRetryable, .now() + Self.retryInterval < deadline {
                            await pause(for: Self.retryInterval, on: delivery)
                            continue
                        }
                        log.warning("a socket is not caught up", ["log": logID.name, "code": error.code.rawValue])
                        return nil
                    }
                }
            }
        }
        return nil
    }

    /// - Returns: true if the socket is still connected.
    private func send(
        _ page: [Replay.Event], to subscriber: Subscriber, on delivery: isolated LoopDelivery
    ) async -> Bool {
        let data = await events.data(of: page, for: subscriber.caller.id)
        for (event, data) in zip(page, data) {
            while subscriber.isConnected, subscriber.socket.unsentCost > maxBacklog {
                await pause(for: Self.backlogInterval, on: delivery)
            }
            guard subscriber.isConnected, !delivery.audience.receivers(of: event.roomID, [subscriber]).isEmpty else {
                return false
            }
            if delivery.absences.has(subscriber.caller.id, in: event.roomID) { continue }
            if let packet = event.item.packet {
                subscriber.socket.send(packet)
            } else if let data {
                subscriber.socket.emit(event.item.emission.event, data)
            }
        }
        return subscriber.isConnected
    }

    private func pause(for time: Duration, on delivery: isolated LoopDelivery) async {
        await withCheckedContinuation { continuation in
            _ = delivery.loop.schedule(after: time) { continuation.resume() }
        }
    }
}

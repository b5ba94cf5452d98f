import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit
import SocketIO

// Sockets that come back: what they missed, then `sync:done`, then what is live, with nothing lost or doubled in between.
//
// The socket is none of the shard's audience while it is caught up. What is fanned out meanwhile is missed too, and caught
// up with in another round; the last round finds nothing, and the socket becomes live without a suspension in between: even
// the return from an actor's own method may be one.
extension Shard {
    /// More than this is not replayed to a socket: loading anew is cheaper for both sides.
    static let maxReplayed = 10_000
    private static let pageSize = 500
    private static let pageBytes = 1 << 20
    /// What may wait for a socket before its replay goes on, and how often that is looked at.
    private static let maxReplayBacklog = 128 * 1024
    private static let backlogInterval: Duration = .milliseconds(20)

    /// Between two questions to a log's owner that is away.
    private static let tryInterval: Duration = .milliseconds(250)

    /// Catches a socket up from the cursor it came with. It then belongs to the audience, unless it has closed.
    ///
    /// What it asks meanwhile waits: so what cannot be had within the time of a request is given up, and said to be.
    func recover(_ client: Client, since given: JSONValue) async {
        defer {
            client.isChangingRooms = false
            resume(client)
        }
        guard unfollowedStreams.isEmpty else {
            // This gateway has just started: nothing can be said of the cursor yet. The client comes back.
            return client.socket.closeTransport()
        }
        let cursor = given.string.flatMap { context.cursors.decode($0, for: client.caller.id) }
        let deadline = LoopInstant.now() + context.settings.requestTimeout
        if let cursor, mayBeCaughtUp(client),
            await replay(to: client, from: cursor, .person, by: deadline, then: { goLive(client, isRecovered: true) })
        {
            return
        }
        if client.isConnected { goLive(client, isRecovered: false) }
    }

    private func goLive(_ client: Client, isRecovered: Bool) {
        admit(client)
        client.continuesFrom = SyncCursor(recent.places)
        tellSynchronised(client, isRecovered)
    }

    /// Has a socket join a room's audience. One that came with a cursor is sent what the room was told since it left the room,
    /// or since its cursor.
    func joinAudience(of roomID: String, _ client: Client, by deadline: LoopInstant) async {
        if !client.rooms.contains(roomID), let cursor = client.continuedRooms[roomID] ?? client.continuesFrom {
            let isReplayed = await replay(to: client, from: cursor, .room(roomID), by: deadline) {
                audience.join(roomID, client)
            }
            if isReplayed { return }
            if client.isConnected { tellSynchronised(client, false) }
        }
        if client.isConnected { audience.join(roomID, client) }
    }

    func leaveAudience(of roomID: String, _ client: Client) {
        if client.continuesFrom != nil { client.continuedRooms[roomID] = SyncCursor(recent.places) }
        audience.leave(roomID, client)
    }

    private func tellSynchronised(_ client: Client, _ isRecovered: Bool) {
        let cursor = context.cursors.encode(SyncCursor(recent.places), for: client.caller.id)
        client.socket.emit(
            "sync:done",
            JSONWriter.object {
                $0.member("recovered", isRecovered)
                $0.member("cursor", cursor)
            })
    }

    /// - Parameter finish: called when all of it was sent, before anything else can be fanned out.
    /// - Returns: whether it was called. It is not if something cannot be had, or the socket has closed.
    private func replay(
        to client: Client, from start: SyncCursor, _ scope: Replay.Scope, by deadline: LoopInstant,
        then finish: () -> Void
    ) async -> Bool {
        guard await hasReached(start, by: deadline) else { return false }
        var cursor = start
        var count = 0
        var deadline = deadline
        // What is remembered is sent at once; to ask services for more is heavy.
        var slot: RequestSlots.Slot?
        defer { withExtendedLifetime(slot) {} }
        while client.isConnected {
            if let packets = remembered(since: cursor, by: client, scope) {
                count += packets.count
                guard count <= Self.maxReplayed else { return false }
                for packet in packets { client.socket.send(packet) }
                finish()
                return true
            }
            if slot == nil { slot = await heavySlot(for: client, by: deadline) }
            guard slot != nil, client.isConnected,
                var replay = Replay(
                    from: cursor, to: recent.places, for: client.caller.id, scope, limit: Self.pageSize,
                    maxBytes: Self.pageBytes)
            else { return false }
            var isMore = true
            var rooms: [String]?
            if case .room(let id) = scope { rooms = [id] }
            while isMore {
                guard let page = await nextPage(of: &replay, for: client.caller, &rooms, by: deadline) else {
                    return false
                }
                count += page.events.count
                guard count <= Self.maxReplayed else { return false }
                guard await send(page.events, to: client) else { return false }
                // A slow reader takes its own time, not the owners'.
                deadline = max(deadline, .now() + context.settings.requestTimeout)
                isMore = page.isMore
            }
            cursor = replay.cursor
        }
        return false
    }

    private func heavySlot(for client: Client, by deadline: LoopInstant) async -> RequestSlots.Slot? {
        do throws(ServiceError) {
            return try await enterHeavy(client.caller.id, by: deadline)
        } catch {
            return nil
        }
    }

    /// All that a client has missed until now, if this loop remembers it and it may be sent at once: so for nearly everyone
    /// who comes back from a short absence. With thousands at once, rounds that take turns would never end, as each finds
    /// what was told during the others'.
    private func remembered(
        since cursor: SyncCursor, by client: Client, _ scope: Replay.Scope
    ) -> [OutgoingPacket]? {
        guard
            var replay = Replay(
                from: cursor, to: recent.places, for: client.caller.id, scope, limit: Self.pageSize,
                maxBytes: Self.maxReplayBacklog)
        else { return nil }
        while true {
            switch replay.next() {
            case .fetch(let stream, let since, let through):
                guard case .found(let entries) = recent.entries(of: stream, since: since, for: client.caller.id) else {
                    return nil
                }
                replay.supply(stream, entries, through: through)
            case .page(let page):
                let packets = page.events.compactMap(\.item.packet)
                // What has no packet is composed first.
                guard !page.isMore, packets.count == page.events.count else { return nil }
                return packets.isEmpty || client.socket.pendingCost <= Self.maxReplayBacklog ? packets : nil
            }
        }
    }

    /// Whether this loop has fanned out what a cursor says. Another gateway may have been further when it gave the cursor: a
    /// short while is waited for all of its streams together.
    private func hasReached(_ cursor: SyncCursor, by deadline: LoopInstant) async -> Bool {
        func isBehind(_ stream: String, _ place: SyncCursor.Place) -> Bool? {
            guard let here = recent.place(of: stream), here.databaseID == place.bookmark.databaseID else { return nil }
            return here.seq < place.bookmark.seq
        }
        var behind: [StreamPosition] = []
        for (stream, place) in cursor.places {
            guard let isBehind = isBehind(stream, place) else { return false }
            if isBehind { behind.append(StreamPosition(stream: stream, seq: place.bookmark.seq)) }
        }
        let deadline = min(deadline, LoopInstant.now() + Self.maxHold)
        for position in behind {
            guard .now() < deadline else { return false }
            await fannedOut(position, by: deadline)
        }
        return cursor.places.allSatisfy { isBehind($0.key, $0.value) == false }
    }

    /// - Parameter rooms: those whose entries are asked for; found out once in a round, after its ends.
    /// - Returns: nil if something of it cannot be had.
    private func nextPage(
        of replay: inout Replay, for caller: Caller, _ rooms: inout [String]?, by deadline: LoopInstant
    ) async -> Replay.Page? {
        while true {
            switch replay.next() {
            case .page(let page): return page
            case .fetch(let stream, let since, let through):
                switch recent.entries(of: stream, since: since, for: caller.id) {
                case .found(let entries): replay.supply(stream, entries, through: through)
                case .unknown: return nil
                case .older:
                    do throws(ServiceError) {
                        if rooms == nil { rooms = try await context.missed.rooms(of: caller, by: deadline) }
                        guard
                            let missed = try await context.missed.entries(
                                of: stream, since: since, through: through, ofRooms: rooms ?? [], by: deadline)
                        else { return nil }
                        replay.supply(stream, missed.entries, through: missed.through)
                    } catch {
                        // A log's owner that is only restarting is not worth that a client loads everything anew.
                        if error.code.isRetryable, .now() + Self.tryInterval < deadline {
                            await pause(for: Self.tryInterval)
                            continue
                        }
                        context.log.warning(
                            "a socket is not caught up", ["stream": stream, "code": error.code.rawValue])
                        return nil
                    }
                }
            }
        }
    }

    /// - Returns: whether the socket is still there.
    private func send(_ events: [Replay.Event], to client: Client) async -> Bool {
        let badges = await context.composer.otherBadges(for: events, of: client.caller)
        for event in events {
            while client.isConnected, client.socket.pendingCost > Self.maxReplayBacklog {
                await pause(for: Self.backlogInterval)
            }
            guard client.isConnected else { return false }
            if let packet = event.item.packet {
                client.socket.send(packet)
            } else if let data = context.composer.data(of: event, badges) {
                client.socket.emit(event.item.emission.event, data)
            }
        }
        return client.isConnected
    }

    private func pause(for time: Duration) async {
        await withCheckedContinuation { continuation in
            _ = loop.schedule(after: time) { continuation.resume() }
        }
    }
}

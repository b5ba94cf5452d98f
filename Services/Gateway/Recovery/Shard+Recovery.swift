import Contracts
import JSON
import MessageBus
import ServiceKit

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

    /// Catches a socket up from the cursor it came with. It then belongs to the audience, unless it has closed.
    func recover(_ client: Client, since given: JSONValue) async {
        let cursor = given.string.flatMap { context.cursors.decode($0, for: client.caller.id) }
        if let cursor, await replay(to: client, from: cursor, .person, then: { goLive(client, isRecovered: true) }) {
            return
        }
        if client.isConnected { goLive(client, isRecovered: false) }
    }

    private func goLive(_ client: Client, isRecovered: Bool) {
        admit(client)
        client.continuesFrom = SyncCursor(recent.places)
        tellSynchronised(client, isRecovered)
    }

    /// Has a socket joined a room's audience. One that came with a cursor, and joins the room for the first time, is sent what
    /// the room was told since.
    func joinAudience(of roomID: String, _ client: Client) async {
        if let cursor = client.continuesFrom, client.continuedRooms.insert(roomID).inserted {
            if await replay(to: client, from: cursor, .room(roomID), then: { audience.join(roomID, client) }) { return }
            if client.isConnected { tellSynchronised(client, false) }
        }
        if client.isConnected { audience.join(roomID, client) }
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
        to client: Client, from start: SyncCursor, _ scope: Replay.Scope, then finish: () -> Void
    ) async -> Bool {
        // Another gateway may have been further when it gave the cursor, or this one has just started.
        for (stream, place) in start.places {
            await fannedOut(StreamPosition(stream: stream, seq: place.bookmark.seq))
        }
        var cursor = start
        var count = 0
        while client.isConnected {
            guard
                var replay = Replay(
                    from: cursor, to: recent.places, for: client.caller.id, scope, limit: Self.pageSize,
                    maxBytes: Self.pageBytes)
            else { return false }
            var isMore = true
            while isMore {
                guard let page = await nextPage(of: &replay, for: client.caller, scope) else { return false }
                count += page.events.count
                guard count <= Self.maxReplayed else { return false }
                guard await send(page.events, to: client) else { return false }
                isMore = page.isMore
            }
            cursor = replay.cursor
            if client.isConnected, recent.isUpToDate(cursor) {
                finish()
                return true
            }
        }
        return false
    }

    /// nil if something of it cannot be had.
    private func nextPage(of replay: inout Replay, for caller: Caller, _ scope: Replay.Scope) async -> Replay.Page? {
        while true {
            switch replay.next() {
            case .page(let page): return page
            case .fetch(let stream, let since, let through):
                switch recent.entries(of: stream, since: since, for: caller.id) {
                case .found(let entries): replay.supply(stream, entries, through: through)
                case .unknown: return nil
                case .older:
                    do throws(ServiceError) {
                        let rooms =
                            switch scope {
                            case .person: try await context.missed.rooms(of: caller)
                            case .room(let id): [id]
                            }
                        guard
                            let missed = try await context.missed.entries(
                                of: stream, since: since, through: through, ofRooms: rooms)
                        else { return nil }
                        replay.supply(stream, missed.entries, through: missed.through)
                    } catch {
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
        let badges = await context.missed.otherBadges(for: events, of: client.caller)
        for event in events {
            while client.isConnected, client.socket.pendingBytes > Self.maxReplayBacklog {
                await pause(for: Self.backlogInterval)
            }
            guard client.isConnected else { return false }
            if let packet = event.item.packet {
                client.socket.send(packet)
            } else if let data = context.missed.data(of: event, badges) {
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

import Contracts
import Edge
import HTTP
import JSON
import MessageBus
import Reactor
import ServiceKit

// `GET /api/sync`: the list of rooms with a cursor, and what was missed since one.
extension Shard {
    private static let syncLimit = (standard: 500, max: 1000)
    /// A page of missed events ends after the one that reaches this.
    private static let syncBytes = 4 << 20

    func sync(_ request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder) {
        do throws(ServiceError) {
            let limit = limit("sync")
            try passAddress(limit, client)
            let caller = try context.tokens.claims(authorization: request.headers["Authorization"]).caller
            _ = try passLimits(limit, person: caller.id, address: client, isAddressCounted: true)
            let slot = try enter(caller.id)
            startTask { await $0.sync(request, caller, from: client, slot, using: responder) }
        } catch {
            fail(error, responder)
        }
    }

    private func sync(
        _ request: HTTPRequest, _ caller: Caller, from client: IPAddress, _ slot: RequestSlots.Slot,
        using responder: HTTPResponder
    ) async {
        let id = responder.requestID
        do throws(ServiceError) {
            guard let query = request.queryItems else {
                throw ServiceError(.malformedRequest, "The query makes no sense.")
            }
            let fields = try RequestFields(
                JSONWriter.object { for item in query.items { $0.member(item.name, item.value) } })
            let limit = try fields.queryLimit(standard: Self.syncLimit.standard, max: Self.syncLimit.max)
            // Streams that are not known yet may be the cursor's.
            guard context.directory.catalog.isWhole else { throw .unavailable("A part of this service") }
            let since = try fields.optionalString("since")
            let cursor = since.flatMap { context.cursors.decode($0, for: caller.id) }
            if since != nil, cursor == nil { throw .invalid("since", "is no cursor of yours") }
            let origin = context.origin(id, trace: request.headers["traceparent"])
            if cursor == nil { try passList(caller.id, client) }
            let heavySlot = try await enterHeavy(caller.id, by: origin.deadline)
            let response =
                if let cursor {
                    try await missed(since: cursor, by: caller, limit: limit, origin)
                } else {
                    try await snapshot(for: caller, from: client, origin)
                }
            send(response, with: responder, holding: [slot, heavySlot])
        } catch {
            fail(error, responder)
        }
    }

    /// The cursor is taken before the rooms: what is in them already may come once more, and nothing is left out.
    private func snapshot(
        for caller: Caller, from client: IPAddress, _ origin: RequestOrigin
    ) async throws(ServiceError) -> HTTPResponse {
        let streams = context.directory.catalog.streams
        let places = await context.missed.heads(of: streams, by: origin.deadline)
        guard places.count == streams.count else { throw .unavailable("A part of this service") }
        let asked = origin.context(for: caller, key: caller.id)
        let bases = try await context.bus.askForAll(Subject.rooms, asked, of: "Rooms") { _ in }
        noteList(of: bases.count, for: caller.id, client)
        let composed = try await context.composer.compose(
            bases, for: caller.id, origin, unnamed: JSONValue(""), remembering: .all)
        // What was last known of a service may be older than its place: what lies between would never be told.
        guard !composed.degraded.contains(where: { places[$0] != nil }) else {
            throw .unavailable("A part of this service")
        }
        let cursor = context.cursors.encode(SyncCursor(places), for: caller.id)
        let data = await context.composer.longWork.run(if: composed.isLong) {
            JSONWriter.object(reservingCapacity: composed.rooms.count * 1280 + 1024) {
                $0.member("cursor", cursor)
                $0.name("rooms")
                ComposedRoom.write(composed.rooms, by: .activity, to: &$0)
            }
        }
        return .data(data, status: 200, degraded: composed.degraded)
    }

    /// Asked of the logs' owners, and not of this loop's memory: what was answered to anyone, anywhere, before this was asked
    /// is in it.
    private func missed(
        since cursor: SyncCursor, by caller: Caller, limit: Int, _ origin: RequestOrigin
    ) async throws(ServiceError) -> HTTPResponse {
        let broken = HTTPResponse.data(JSONWriter.object { $0.member("recovered", false) }, status: 200)
        let missed = context.missed
        let streams = context.directory.catalog.streams
        let heads = await missed.heads(of: streams, by: origin.deadline)
        guard heads.count == streams.count else { throw .unavailable("A part of this service") }
        guard
            var replay = Replay(from: cursor, to: heads, for: caller.id, limit: limit, maxBytes: Self.syncBytes)
        else { return broken }
        var rooms: [String]?
        while true {
            switch replay.next() {
            case .fetch(let stream, let since, let through):
                if rooms == nil { rooms = try await missed.rooms(of: caller, by: origin.deadline) }
                guard
                    let found = try await missed.entries(
                        of: stream, since: since, through: through, ofRooms: rooms ?? [], by: origin.deadline)
                else { return broken }
                replay.supply(stream, found.entries, through: found.through)
            case .page(let page):
                let badges = await context.composer.otherBadges(for: page.events, of: caller)
                let data = JSONWriter.object(reservingCapacity: 4096) { json in
                    json.member("recovered", true)
                    json.member(
                        "events",
                        array: { json in
                            for event in page.events {
                                guard let data = context.composer.data(of: event, badges) else { continue }
                                json.object {
                                    $0.member("event", event.item.emission.event)
                                    $0.member("data", data)
                                }
                            }
                        })
                    json.member("cursor", context.cursors.encode(replay.cursor, for: caller.id))
                    json.member("more", page.isMore)
                }
                return .data(data, status: 200)
            }
        }
    }
}

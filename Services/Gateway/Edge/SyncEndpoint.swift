import ParlorContracts
import ParlorDelivery
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorRoomViews
import ParlorServiceKit

/// Serves `GET /api/sync`: the list of rooms with a cursor, and the events missed since one.
///
/// It asks the logs' owners, and not a loop's memory: everything acknowledged to anyone, anywhere, before
/// this request is included.
package final class SyncEndpoint: Sendable {
    /// A request that may be performed.
    struct Call: Sendable {
        let caller: Caller
        let address: IPAddress
        let slot: RequestSlots.Slot
    }

    private let directory: Directory
    private let limits: Limits
    private let tokens: TokenVerifier
    private let cursors: SyncCursorCodec
    private let missed: EntryFetcher
    private let lists: RoomLists
    private let events: EventComposer
    private let longWork: LongWork

    static let page = Fields(
        .limit(standard: 500, max: 1000),
        .optional(.string("since", note: "Opaque, and valid only for the person who got it.")))
    /// The size at which a page of missed events ends, after the event that reaches it.
    private static let maxBytes = 4 << 20
    /// The limit of the wait for services that are not required.
    private static let maxWaitForOthers: Duration = .seconds(1)

    package init(
        directory: Directory, admission: Admission, cursors: SyncCursorCodec, missed: EntryFetcher,
        lists: RoomLists, events: EventComposer, longWork: LongWork
    ) {
        self.directory = directory
        limits = admission.limits
        tokens = admission.tokens
        self.cursors = cursors
        self.missed = missed
        self.lists = lists
        self.events = events
        self.longWork = longWork
    }

    func admit(_ request: HTTPRequest, from client: IPAddress) throws(ServiceError) -> Call {
        try limits.passAddress([OwnLimits.sync], client)
        let caller = try tokens.claims(authorization: request.headers["Authorization"]).caller
        try limits.pass([OwnLimits.sync], person: caller.id, address: client, isAddressCounted: true)
        return Call(caller: caller, address: client, slot: try limits.enter(caller.id))
    }

    /// - Returns: the response, and the slots to hold until the client has received it.
    func response(
        to request: HTTPRequest, _ call: Call, _ origin: RequestOrigin, on loop: EventLoop
    ) async throws(ServiceError) -> (HTTPResponse, [RequestSlots.Slot]) {
        guard let query = request.queryItems else {
            throw ServiceError(.malformedRequest, "The query is malformed.")
        }
        let fields = try RequestFields(
            JSONWriter.object { for item in query.items { $0.member(item.name, item.value) } })
        let (limit, since) = try Self.page.read(fields)
        // The cursor may contain logs that are not known yet.
        guard directory.catalog.isWhole else { throw .unavailable("A part of this service") }
        let cursor = since.flatMap { cursors.decode($0, for: call.caller.id) }
        if since != nil, cursor == nil { throw .invalid("since", "is not one of your cursors") }
        if cursor == nil { try limits.passList(call.caller.id, call.address) }
        let heavySlot = try await limits.enterHeavy(call.caller.id, on: loop, by: origin.deadline)
        let response =
            if let cursor {
                // Megabytes of events may have to be read and written.
                try await longWork.run(if: true) { () throws(ServiceError) in
                    try await missed(since: cursor, by: call.caller, limit: limit, origin)
                }
            } else {
                try await snapshot(for: Viewer(call.caller, at: call.address, origin, on: loop))
            }
        return (response, [call.slot, heavySlot])
    }

    /// Returns the list with a cursor. The cursor is taken before the rooms: their latest changes may be sent
    /// once more, and none is left out.
    private func snapshot(for viewer: Viewer) async throws(ServiceError) -> HTTPResponse {
        let catalog = directory.catalog
        let followed = lists.followed.filter { catalog.logs.contains($0.key) }
        // For a service that is not required, the position up to which this gateway has followed the log will do: nobody
        // could catch up from a head that a plugin made up.
        let asked = catalog.logs.filter { catalog.isRequired($0.service) || followed[$0] == nil }
        let heads = try await heads(of: asked, by: viewer.origin.deadline)
        let composed = try await lists.snapshot(for: viewer)
        // Stale values of a service may be older than its position, and the events in between would never be sent.
        guard !composed.degraded.contains(where: catalog.isRequired) else {
            throw .unavailable("A part of this service")
        }
        // The position of a service whose values are stale is unknown: once it is up again, the client loads everything
        // again.
        let positions = followed.merging(heads) { _, head in head }
            .filter { !composed.degraded.contains($0.key.service) }
        let unknown = Set(catalog.logs).subtracting(positions.keys)
        let cursor = cursors.encode(SyncCursor(positions, unknown: unknown), for: viewer.caller.id)
        let data = await longWork.run(if: composed.isLong) {
            JSONWriter.object(reservingCapacity: composed.rooms.count * 1280 + 1024) {
                $0.member("cursor", cursor)
                $0.name("rooms")
                ComposedRoom.write(composed.rooms, to: &$0)
            }
        }
        return .data(data, status: 200, degraded: composed.degraded)
    }

    /// Returns the heads of these logs. That of a service that is not required is missing if it does not reply soon, or
    /// replies with another log than this gateway follows: a plugin must not end others' catching up.
    private func heads(
        of logs: [LogID], by deadline: LoopInstant
    ) async throws(ServiceError) -> [LogID: LogPosition] {
        let catalog = directory.catalog
        let required = logs.filter { catalog.isRequired($0.service) }
        let others = logs.filter { !catalog.isRequired($0.service) }
        async let ofOthers = missed.heads(of: others, by: Self.forOthers(deadline))
        let heads = await missed.heads(of: required, by: deadline)
        let followed = lists.followed
        let known = await ofOthers.filter { $1.databaseID == followed[$0]?.databaseID ?? $1.databaseID }
        let all = heads.merging(known) { head, _ in head }
        guard heads.count == required.count else { throw .unavailable("A part of this service") }
        return all
    }

    /// Returns the deadline of a request to a service that is not required.
    private static func forOthers(_ deadline: LoopInstant) -> LoopInstant { min(deadline, .now() + maxWaitForOthers) }

    private func missed(
        since cursor: SyncCursor, by caller: Caller, limit: Int, _ origin: RequestOrigin
    ) async throws(ServiceError) -> HTTPResponse {
        let broken = HTTPResponse.data(JSONWriter.object { $0.member("recovered", false) }, status: 200)
        let catalog = directory.catalog
        let heads = try await heads(of: catalog.logs, by: origin.deadline)
        // The cursor keeps its position in the log of a service that does not reply.
        let silent = cursor.positions.filter { logID, _ in
            heads[logID] == nil && catalog.logs.contains(logID)
        }
        let ends = heads.merging(silent) { head, _ in head }
        guard
            var replay = Replay(from: cursor, to: ends, for: caller.id, limit: limit, maxBytes: Self.maxBytes)
        else { return broken }
        var rooms: [String]?
        while true {
            switch replay.next() {
            case .fetch(let logID, let since, let through):
                if rooms == nil { rooms = try await missed.rooms(of: caller, by: origin.deadline) }
                let isRequired = catalog.isRequired(logID.service)
                do throws(ServiceError) {
                    guard
                        let found = try await missed.entries(
                            of: logID, since: since, through: through, ofRooms: rooms ?? [], for: caller,
                            by: isRequired ? origin.deadline : Self.forOthers(origin.deadline))
                    else { return broken }
                    replay.supply(
                        logID, found.entries, through: found.through,
                        sending: missed.emitters.filter(of: logID.service))
                } catch {
                    if isRequired { throw error }
                    replay.leaveOut(logID)
                }
            case .page(let page):
                return await response(with: page, cursors.encode(replay.cursor, for: caller.id), for: caller)
            }
        }
    }

    private func response(with page: Replay.Page, _ cursor: String, for caller: Caller) async -> HTTPResponse {
        let all = await events.data(of: page.events, for: caller.id)
        let data = JSONWriter.object(reservingCapacity: 4096) { json in
            json.member("recovered", true)
            json.member(
                "events",
                array: { json in
                    for (event, data) in zip(page.events, all) {
                        guard let data else { continue }
                        json.object {
                            $0.member("event", event.item.emission.event)
                            $0.member("data", data)
                        }
                    }
                })
            json.member("cursor", cursor)
            json.member("more", page.isMore)
        }
        return .data(data, status: 200)
    }
}

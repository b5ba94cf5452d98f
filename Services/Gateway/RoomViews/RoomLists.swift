import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorGatewayPresence
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit

/// The person who requests rooms, with the client's address.
package struct Viewer: Sendable {
    package let caller: Caller
    package let address: IPAddress
    package let origin: RequestOrigin
    /// The loop on which the request is answered.
    package let loop: EventLoop

    package init(_ caller: Caller, at address: IPAddress, _ origin: RequestOrigin, on loop: EventLoop) {
        self.caller = caller
        self.address = address
        self.origin = origin
        self.loop = loop
    }
}

/// Answers requests for lists of rooms: with the cached list if nothing has changed since, with a patched
/// one, or with a new one.
///
/// A cached list is used again, as it is or patched, only if all of this holds:
///
/// - After the request arrived, the service that owns the rooms has reported the head of its log.
/// - This gateway has followed each of the list's logs (`Catalog.ListSources`) to the head that its owner has reported.
///   No log was replaced meanwhile.
/// - Services contribute the same fields.
///
/// If a condition fails, or too much has changed, the whole list is composed. Otherwise the gateway recomposes the
/// rooms that an entry has changed for the person. It also compares what no log shows: who has the rooms open, the
/// values of services without such a log, and those of services that did not report a head or did not reply. It
/// recomposes the rooms that differ.
///
/// So the answer is what composing would give, even right after a write through another gateway.
package final class RoomLists: Sendable {
    private let cache: RoomListCache
    private let readIndex: ReadIndex
    private let composer: RoomComposer
    private let fields: ContributedFields
    private let directory: Directory
    private let services: RequestForwarder
    private let presence: Presence
    private let limits: Limits
    private let longWork: LongWork

    /// The size in bytes above which a list is parsed off the loop.
    private static let longReply = 64 * 1024

    package init(
        cache: RoomListCache, readIndex: ReadIndex, composer: RoomComposer, fields: ContributedFields,
        directory: Directory, services: RequestForwarder, presence: Presence, limits: Limits, longWork: LongWork
    ) {
        self.cache = cache
        self.readIndex = readIndex
        self.composer = composer
        self.fields = fields
        self.directory = directory
        self.services = services
        self.presence = presence
        self.limits = limits
        self.longWork = longWork
    }

    // MARK: The caller's rooms

    /// Returns a list of the viewer's rooms.
    ///
    /// - Parameters:
    ///   - subject: the request for the rooms.
    ///   - data: the request's data. A list with other members than `sort` is not cached, as only the service
    ///     knows their meaning.
    package func list(
        _ subject: String, _ data: JSONValue, by sort: RoomSort, for viewer: Viewer
    ) async throws(ServiceError) -> RoomList {
        let isPlain = subject == Subject.rooms && data.object?.names.allSatisfy { $0 == "sort" } == true
        guard isPlain, let sources = directory.catalog.listSources else {
            return try await composed(subject, data, by: sort, for: viewer, remembering: isPlain)
        }
        let key = RoomListCache.Key(userID: viewer.caller.id, sort: sort)
        let known = cache.positions
        let heads = cache.has(key) ? await readIndex.heads(of: sources.logs) : [:]
        let ticket = cache.begin(key.userID)
        defer { cache.end(ticket) }
        let old = await candidate(key, sources, at: heads, after: known, for: viewer)
        if let old, old.isCurrent {
            cache.noteAnswered(old.cached.list, key)
            return old.cached.list
        }
        let list: RoomList
        if let old, old.cached.isPatchable, let patched = await patched(old, sources, by: sort, for: viewer) {
            list = patched
        } else {
            list = try await composed(subject, data, by: sort, for: viewer, remembering: true)
        }
        cache.put(list, key, ticket)
        return list
    }

    /// A cached list, with its changes since.
    private struct Candidate {
        var cached: RoomListCache.Cached
        /// The services whose part of the list is not fresh now.
        var degraded: Set<String> = []

        var isCurrent: Bool {
            cached.changes.isEmpty && degraded.count == cached.list.degraded.count
                && cached.list.degraded.allSatisfy(degraded.contains)
        }

        mutating func note(changes roomIDs: [String]) { for id in roomIDs { cached.changes[id, default: []] = [] } }
    }

    /// Returns the cached list, if its changes since are known.
    private func candidate(
        _ key: RoomListCache.Key, _ sources: Catalog.ListSources, at heads: [LogID: LogPosition],
        after known: [LogID: LogPosition], for viewer: Viewer
    ) async -> Candidate? {
        let catalog = directory.catalog
        guard sources.logs.allSatisfy({ heads[$0] != nil || $0.service != sources.owner }),
            let cached = cache.list(key, from: sources.logs, at: heads, after: known),
            cached.list.catalogRevision == catalog.revision
        else { return nil }
        var old = Candidate(cached: cached)
        // The whole list will be composed, so there is no need to compare the rest.
        guard cached.isPatchable else { return old }
        let isAllLogged =
            sources.unlogged.isEmpty && cached.list.degraded.isEmpty && sources.logs.allSatisfy { heads[$0] != nil }
        if !isAllLogged {
            let silent = sources.logs.filter { heads[$0] == nil }.map(\.service)
            let reported = Set(sources.logs.map(\.service)).subtracting(silent)
            let asked = catalog.contributors.filter { service, _ in
                !reported.contains(service) || cached.list.degraded.contains(service)
            }
            // Without earlier values of a service there is nothing to compare, and the whole list is composed. That
            // asks all services anyway.
            guard asked.allSatisfy({ cached.list.unlogged.services.contains($0.service) }) else { return nil }
            await compare(&old, asked, for: viewer)
        }
        let changes = presence.changes.load(ordering: .acquiring)
        if cached.list.presenceChanges != changes {
            let ids = cached.list.roomIDs
            let present = await presence.present(in: ids)
            old.note(changes: ids.filter { present[$0] != cached.list.present[$0] })
            old.cached.list.presenceChanges = changes
        }
        return old
    }

    /// Asks services whose changes no log shows at the moment. Notes the rooms for which they have other values than
    /// the list.
    private func compare(_ old: inout Candidate, _ asked: [Catalog.RoomContributor], for viewer: Viewer) async {
        let list = old.cached.list
        let ids = list.roomIDs
        let shares = await composer.shares(
            of: ids, for: viewer.caller.id, asked, viewer.origin, remembering: .all)
        for share in shares {
            if !share.isFresh { old.degraded.insert(share.service) }
            old.note(changes: list.unlogged.changes(to: share, of: ids))
        }
    }

    /// Patches a list; nil if a changed room cannot be fetched or does not fit the list. Then all rooms are requested.
    private func patched(
        _ old: Candidate, _ sources: Catalog.ListSources, by sort: RoomSort, for viewer: Viewer
    ) async -> RoomList? {
        let list = old.cached.list
        do throws(ServiceError) {
            let bases = try await composer.bases(
                of: old.cached.changes.keys.sorted(), viewer.origin.context(for: viewer.caller, isRepeatable: true))
            let composed = try await compose(bases, for: viewer, remembering: .some)
            return await longWork.run(if: list.count > RoomComposer.maxWrittenOnLoop) {
                list.replacing(with: composed, by: sort, degraded: old.degraded, unlogged: sources.unlogged)
            }
        } catch {
            return nil
        }
    }

    // MARK: Composing all rooms

    /// Requests and composes all rooms, and counts them against the person's limits. Unlike an answer from the cache,
    /// this is expensive.
    ///
    /// - Parameter isAll: true if these are all of the viewer's rooms. They are cached as such for outages.
    private func composed(
        _ subject: String, _ data: JSONValue, by sort: RoomSort, for viewer: Viewer, remembering isAll: Bool
    ) async throws(ServiceError) -> RoomList {
        let person = viewer.caller.id
        try limits.passList(person, viewer.address)
        let slot = try await limits.enterHeavy(person, on: viewer.loop, by: viewer.origin.deadline)
        defer { withExtendedLifetime(slot) {} }
        let pages = try await services.askForPages(subject, data, as: viewer.caller, origin: viewer.origin, key: nil)
        let bases = await longWork.run(if: pages.count > 1) { pages.flatMap { $0.data.array ?? [] } }
        limits.noteList(of: bases.count, for: person, viewer.address)
        let composed = try await compose(bases, for: viewer, remembering: isAll ? .all : .some)
        return await longWork.run(if: composed.isLong) { RoomList(composed, by: sort) }
    }

    /// Returns all of the viewer's rooms, for `/api/sync`. The caller has counted the request and holds a
    /// slot.
    package func snapshot(for viewer: Viewer) async throws(ServiceError) -> RoomComposer.Composed {
        let context = viewer.origin.context(for: viewer.caller, key: viewer.caller.id)
        let bases = try await services.bus.askForAll(Subject.rooms, context, of: "Rooms") { _ in }
        limits.noteList(of: bases.count, for: viewer.caller.id, viewer.address)
        return try await compose(bases, for: viewer, remembering: .all)
    }

    /// The position up to which this gateway has followed each log.
    package var followed: [LogID: LogPosition] { cache.positions }

    private func compose(
        _ bases: [JSONValue], for viewer: Viewer, remembering remembered: RoomComposer.Remembered
    ) async throws(ServiceError) -> RoomComposer.Composed {
        try await composer.compose(
            bases, for: viewer.caller.id, viewer.origin, unnamed: JSONValue(""), remembering: remembered)
    }

    // MARK: By person

    /// Returns people with the rooms that the viewer shares with each of them. They are requested in pages
    /// that fit the bus.
    package func byPerson(
        _ subject: String, _ data: JSONValue, key: String?, for viewer: Viewer
    ) async throws(ServiceError) -> (data: JSONValue, degraded: [String]) {
        let pages = try await services.askForPages(
            subject, data, as: viewer.caller, origin: viewer.origin, key: key)
        let isLong = pages.reduce(0) { $0 + $1.data.bytes.count } > Self.longReply
        let (rooms, people) = await longWork.run(if: isLong) {
            (pages.flatMap { $0.data["rooms"]?.array ?? [] }, pages.flatMap { $0.data["people"]?.array ?? [] })
        }
        let person = viewer.caller.id
        limits.noteList(of: rooms.count, for: person, viewer.address)
        async let full = fields.add(to: people, .people, for: person, viewer.origin)
        let found = try await composer.compose(rooms, for: person, viewer.origin, remembering: .some)
        let shown = await full
        let grouped = await longWork.run(if: found.isLong) {
            ComposedRoom.groupedByPerson(found.rooms, people: shown.objects, viewer: person)
        }
        return (grouped, Set(found.degraded + shown.degraded).sorted())
    }
}

import ParlorContracts
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorGatewayPresence
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit

/// Composes Rooms as one person sees them: sends requests to every contributor at once, for all rooms in one
/// request, and merges the replies.
///
/// A contributor that does not reply in time is named in `degraded`. Its last known values are used, or the
/// fields' defaults (`zero`).
///
/// A class, because each call of a struct's `async` function begins with a copy of the struct.
package final class RoomComposer: Sendable {
    package struct Composed: Sendable {
        package let rooms: [ComposedRoom]
        /// The services whose share is not fresh.
        package let degraded: [String]
        /// The values whose changes no log shows: their service has no such log, or its share is not fresh.
        let unlogged: UnloggedValues
        let fields: RoomFields
        /// The people who have the rooms open.
        let present: [String: Set<String>]
        /// The value of `Presence.changes` before presence was read.
        let presenceChanges: Int
        /// The revision of the catalog that determined the contributors.
        let catalogRevision: Int

        /// True if writing the rooms takes long.
        package var isLong: Bool { rooms.count > maxWrittenOnLoop }
    }

    /// The way in which services' replies are cached for an outage: as all of a person's rooms, as some of
    /// them, or not at all.
    package enum Remembered: Sendable { case all, some, nothing }

    /// A service's fields of some rooms.
    struct Share: Sendable {
        let service: String
        let contribution: Contribution
        /// The values of each room; nil if nothing is known.
        let rooms: [JSONValue?]
        let isFresh: Bool
    }

    private let bus: any MessageBus
    private let faults: ReplyFaults
    private let contributions: ContributionClient
    private let directory: Directory
    private let presence: Presence
    private let cache: RoomListCache
    private let longWork: LongWork
    /// The slots for long lists, which take some megabytes while they are composed. More at once would not be
    /// faster, as composing is CPU work. `RequestSlots` limits how many lists of one person wait.
    private let longLists = Slots<String>(perKey: 4)

    package init(
        bus: any MessageBus, faults: ReplyFaults, directory: Directory, presence: Presence, cache: RoomListCache,
        longWork: LongWork
    ) {
        self.bus = bus
        self.faults = faults
        contributions = ContributionClient(bus: bus, faults: faults)
        self.directory = directory
        self.presence = presence
        self.cache = cache
        self.longWork = longWork
    }

    /// The length above which a list waits for a slot.
    private static let longList = 256
    /// The number of rooms above which a list is composed off the loop: each takes some 50 µs.
    private static let maxComposedOnLoop = 64
    /// The number of composed rooms above which they are sorted and written off the loop: each takes some 5
    /// µs.
    static let maxWrittenOnLoop = 512

    /// Composes Rooms from the rooms service's data, in the same order.
    ///
    /// - Throws: `service_unavailable` until each required service has announced itself, as its fields are unknown. The
    ///   same if the request's time is over before composing starts.
    package func compose(
        _ bases: [JSONValue], for userID: String, _ origin: RequestOrigin, unnamed: JSONValue = .null,
        remembering remembered: Remembered
    ) async throws(ServiceError) -> Composed {
        let catalog = directory.catalog
        guard catalog.isWhole else { throw .unavailable("A part of this service") }
        let slot = bases.count > Self.longList ? await longLists.wait(for: "all") : nil
        defer { withExtendedLifetime(slot) {} }
        guard origin.timeLeft > .zero else { throw .unavailable("This part of the service") }
        return await longWork.run(if: bases.count > Self.maxComposedOnLoop) {
            await compose(bases, for: userID, catalog, origin, unnamed: unnamed, remembering: remembered)
        }
    }

    private func compose(
        _ bases: [JSONValue], for userID: String, _ catalog: Catalog, _ origin: RequestOrigin, unnamed: JSONValue,
        remembering remembered: Remembered
    ) async -> Composed {
        let bases = bases.map(\.object)
        let ids = bases.map { $0?["id"]?.string ?? "" }
        let all = await shares(of: ids, for: userID, catalog.contributors, origin, remembering: remembered)
        // Read presence last: a room then includes the changes that clients were sent while services were asked.
        let presenceChanges = presence.changes.load(ordering: .acquiring)
        let present = await presence.present(in: ids)
        let fields = RoomFields(all.flatMap(\.contribution.fields))
        var rooms: [ComposedRoom] = []
        rooms.reserveCapacity(bases.count)
        for index in bases.indices {
            let room = ComposedRoom(
                base: bases[index], fields, values: Self.values(of: all, at: index), present: present[ids[index]] ?? [],
                unnamed: unnamed)
            if let room { rooms.append(room) }
        }
        var unlogged = UnloggedValues()
        for share in all where !share.isFresh || catalog.listSources?.unlogged.contains(share.service) == true {
            unlogged.note(share, of: ids)
        }
        return Composed(
            rooms: rooms, degraded: all.filter { !$0.isFresh }.map(\.service), unlogged: unlogged, fields: fields,
            present: present, presenceChanges: presenceChanges, catalogRevision: catalog.revision)
    }

    /// Returns a room as the rooms service knows it, if the context's caller may see it.
    ///
    /// - Parameter isListed: true for only the people that a list shows.
    package func base(
        of roomID: String, isListed: Bool = false, _ context: BusContext
    ) async throws(ServiceError) -> JSONValue {
        let data = JSONWriter.object {
            $0.member("roomId", roomID)
            if isListed { $0.member("isListed", true) }
        }
        return try await bus.ask(Subject.room, data, context, of: "Rooms", faults: faults).data
    }

    /// Returns several rooms as the rooms service knows them, with the people that a list shows.
    ///
    /// - Throws: the error of the first that fails.
    package func bases(of roomIDs: [String], _ context: BusContext) async throws(ServiceError) -> [JSONValue] {
        let replies = await withTaskGroup(of: Result<JSONValue, ServiceError>.self) { group in
            for id in roomIDs { group.addTask { await self.result(of: id, context) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var bases: [JSONValue] = []
        for reply in replies { bases.append(try reply.get()) }
        return bases
    }

    private func result(of roomID: String, _ context: BusContext) async -> Result<JSONValue, ServiceError> {
        do throws(ServiceError) {
            return .success(try await base(of: roomID, isListed: true, context))
        } catch {
            return .failure(error)
        }
    }

    /// Returns a room as one person sees it; nil if it cannot be composed.
    package func room(_ base: JSONValue, for userID: String) async -> JSONValue? {
        let origin = RequestOrigin(id: "people", deadline: .now() + ContributionClient.maxWait)
        do throws(ServiceError) {
            return try await compose([base], for: userID, origin, remembering: .some).rooms.first?.json
        } catch {
            return nil
        }
    }

    /// Returns participants with their presence, from the list as the rooms service knows it.
    package func participants(_ given: JSONValue, in roomID: String) async -> JSONValue {
        let present = await presence.present(in: [roomID])[roomID] ?? []
        return ComposedRoom.participants(given.array ?? [], present: present)
    }

    /// Returns a room that was just created, and is the same for everyone in it: no service has values for
    /// it, and no one has opened it.
    package func newRoom(_ base: JSONValue) -> JSONValue? {
        let fields = RoomFields(directory.catalog.contributors.flatMap(\.contribution.fields))
        return ComposedRoom(base: base.object, fields, values: fields.zeros, present: [], unnamed: .null)?.json
    }

    /// Returns the values of all services' fields in a room, in the order of the fields.
    static func values(of shares: [Share], at index: Int) -> [JSONValue] {
        var all: [JSONValue] = []
        all.reserveCapacity(8)
        for share in shares {
            let values = share.rooms[index]?.array ?? []
            for (fieldIndex, field) in share.contribution.fields.enumerated() {
                // A service need not repeat its default for each room.
                let value = fieldIndex < values.count ? values[fieldIndex] : .null
                all.append(value.isNull ? field.zero : value)
            }
        }
        return all
    }

    /// Requests the fields from these contributors, all at once.
    func shares(
        of roomIDs: [String], for userID: String, _ services: [Catalog.RoomContributor], _ origin: RequestOrigin,
        remembering remembered: Remembered
    ) async -> [Share] {
        guard !roomIDs.isEmpty else { return [] }
        let deadline = LoopInstant.now() + min(origin.timeLeft, ContributionClient.maxWait)
        let context = origin.context(for: nil, key: roomIDs.count == 1 ? roomIDs[0] : nil)
        return await withTaskGroup(of: Share.self) { group in
            for (service, contribution) in services {
                group.addTask {
                    let values = await self.contributions.values(
                        of: .rooms, roomIDs, for: userID, contribution, context, by: deadline)
                    if let values { self.cache.stale.note(service, userID, roomIDs, values, as: remembered) }
                    let rooms =
                        values?.map { $0.isNull ? nil : $0 } ?? self.cache.stale.values(service, userID, roomIDs)
                    return Share(service: service, contribution: contribution, rooms: rooms, isFresh: values != nil)
                }
            }
            var shares: [Share] = []
            for await share in group { shares.append(share) }
            return shares.sorted { $0.service < $1.service }
        }
    }
}

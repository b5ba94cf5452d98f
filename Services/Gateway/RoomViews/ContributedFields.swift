import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit

/// Adds services' fields to the messages and people in another service's answer.
///
/// All services are asked at once, each with one request about the objects whose values are not cached. A service that
/// does not answer in time is named in `degraded`. Its last known values are used, or the fields' defaults (`zero`).
package final class ContributedFields: Sendable {
    /// A service's values of some objects.
    private struct Share: Sendable {
        let service: String
        let fields: [Contribution.Field]
        /// The values of each object; nil if nothing is known.
        let values: [JSONValue?]
        let isFresh: Bool
    }

    private let client: ContributionClient
    private let directory: Directory
    private let cache: FieldCache
    private let rooms: RoomListCache
    private let readIndex: ReadIndex
    private let longWork: LongWork

    /// The size in bytes from which a response is written on a thread other than the loop's.
    private static let longResponse = 64 * 1024

    /// - Parameter rooms: knows how far logs are followed.
    package init(
        bus: any MessageBus, faults: ReplyFaults, directory: Directory, cache: FieldCache, rooms: RoomListCache,
        readIndex: ReadIndex, longWork: LongWork
    ) {
        client = ContributionClient(bus: bus, faults: faults)
        self.directory = directory
        self.cache = cache
        self.rooms = rooms
        self.readIndex = readIndex
        self.longWork = longWork
    }

    /// Returns an answer's data with services' fields, and the services whose fields are not fresh. Without
    /// contributors the data stays as it is.
    ///
    /// - Parameter data: an object, or a list of objects, each with its `id`. Anything else stays as it is.
    package func add(
        to data: JSONValue, _ kind: ShownObject, for userID: String, _ origin: RequestOrigin
    ) async -> (data: JSONValue, degraded: [String]) {
        guard !directory.catalog.contributors(to: kind).isEmpty else { return (data, []) }
        return await longWork.run(if: data.bytes.count > Self.longResponse) {
            guard let list = data.array else {
                let (objects, degraded) = await add(to: [data], kind, for: userID, origin)
                return (objects[0], degraded)
            }
            let (objects, degraded) = await add(to: list, kind, for: userID, origin)
            let written = JSONWriter.value(reservingCapacity: data.bytes.count + 128 * objects.count) {
                $0.array(of: objects) { $0.value($1) }
            }
            return (written, degraded)
        }
    }

    /// Returns objects with services' fields, in order, and the services whose fields are not fresh.
    func add(
        to objects: [JSONValue], _ kind: ShownObject, for userID: String, _ origin: RequestOrigin
    ) async -> (objects: [JSONValue], degraded: [String]) {
        let contributors = directory.catalog.contributors(to: kind)
        guard !contributors.isEmpty, !objects.isEmpty else { return (objects, []) }
        let shares = await shares(of: objects, kind, contributors, for: userID, origin)
        let full = objects.enumerated().map { Self.object($1, at: $0, kind, shares) }
        return (full, shares.filter { !$0.isFresh }.map(\.service))
    }

    private func shares(
        of objects: [JSONValue], _ kind: ShownObject, _ contributors: [Catalog.Contributor], for userID: String,
        _ origin: RequestOrigin
    ) async -> [Share] {
        let ids = objects.map { $0["id"]?.string ?? "" }
        // The heads of logs are requested only for services with current values in the cache.
        let cached = contributors.map(\.source).filter { source in
            cache.values(of: kind, ids, by: source, for: userID).contains { $0?.isCurrent == true }
        }.map(\.log)
        let deadline = LoopInstant.now() + min(origin.timeLeft, ContributionClient.maxWait)
        let known = rooms.positions
        let heads = cached.isEmpty ? [:] : await readIndex.heads(of: cached)
        let followed = Set(cached.filter { rooms.isFollowed($0, to: heads[$0], after: known[$0]) })
        return await withTaskGroup(of: Share.self) { group in
            for contributor in contributors {
                group.addTask {
                    await self.share(
                        of: ids, kind, contributor, for: userID, origin, by: deadline,
                        fromCache: followed.contains(contributor.source.log))
                }
            }
            let shares = await group.reduce(into: [Share]()) { $0.append($1) }
            return shares.sorted { $0.service < $1.service }
        }
    }

    /// - Parameter fromCache: true if the service's log is followed to its head. Then the cached values that are current
    ///   are what the service would answer.
    private func share(
        of ids: [String], _ kind: ShownObject, _ contributor: Catalog.Contributor, for userID: String,
        _ origin: RequestOrigin, by deadline: LoopInstant, fromCache: Bool
    ) async -> Share {
        let source = contributor.source
        let moment = contributor.isLogged ? cache.moment(of: source.log) : nil
        let cached = cache.values(of: kind, ids, by: source, for: userID)
        var values = cached.map { $0?.json }
        let unknown = ids.indices.filter { !ids[$0].isEmpty && !(fromCache && cached[$0]?.isCurrent == true) }
        var isFresh = true
        if !unknown.isEmpty {
            let asked = unknown.map { ids[$0] }
            let reply = await client.values(
                of: .init(kind), asked, for: userID, contributor.contribution, origin.context(for: nil), by: deadline)
            isFresh = reply != nil
            if let reply {
                cache.put(reply, of: kind, asked, by: source, for: userID, asOf: moment)
                for (index, value) in zip(unknown, reply) { values[index] = value }
            }
        }
        return Share(
            service: source.service, fields: contributor.contribution.fields, values: values, isFresh: isFresh)
    }

    private static func object(
        _ object: JSONValue, at index: Int, _ kind: ShownObject, _ shares: [Share]
    ) -> JSONValue {
        guard object.kind == .object else { return object }
        return JSONWriter.object(reservingCapacity: object.bytes.count + 128) {
            $0.members(of: object)
            for share in shares {
                let values = share.values[index]?.array ?? []
                for (position, field) in share.fields.enumerated() {
                    let value = position < values.count ? values[position] : field.zero
                    guard field.kind == .time else {
                        $0.member(field.path, value)
                        continue
                    }
                    $0.member(field.path, value.int.map { kind.text(of: Timestamp(milliseconds: $0)) })
                }
            }
        }
    }
}

import ParlorHTTP
import ParlorJSON
import ParlorSecurity

/// A list of rooms as one person sees them, encoded. It also keeps the inputs that no event log records: presence, the
/// catalog's revision, and the values of services without such a log.
package struct RoomList: Sendable {
    /// A room in the body.
    private struct Part: Sendable {
        let key: SortKey
        let json: JSONValue
        /// Kept, so that a list in which one room has changed is not hashed as a whole.
        let digest: [UInt8]

        init(_ room: ComposedRoom, by order: RoomOrder) {
            (key, json, digest) = (room.key(by: order), room.json, SHA256.hash(room.json.bytes))
        }

        init(_ part: Part, at range: Range<Int>, in body: [UInt8]) {
            (key, json, digest) = (part.key, JSONValue(trusted: body[range]), part.digest)
        }

        var id: String { key.id }
    }

    package let body: [UInt8]
    /// A digest of the rooms' digests. It is the same on every gateway, and after a restart. People in a room write
    /// text that others receive, so it must be impossible to construct two bodies with the same tag.
    let tag: EntityTag
    private let parts: [Part]
    let present: [String: Set<String>]
    /// The services whose part is not fresh.
    let degraded: [String]
    let unlogged: UnloggedValues
    let catalogRevision: Int
    /// A value of `Presence.changes` at which `present` was right.
    var presenceChanges: Int

    init(_ composed: RoomComposer.Composed, by sort: RoomSort) {
        let order = composed.fields.order(sort)
        self.init(
            composed.rooms.map { Part($0, by: order) }, composed, composed.degraded, composed.unlogged,
            composed.present, composed.presenceChanges)
    }

    /// Returns the list with some of its rooms replaced by their current state.
    ///
    /// - Parameters:
    ///   - composed: the changed rooms, or none if only `degraded` has changed.
    ///   - degraded: the services whose part of the other rooms is not fresh.
    ///   - unlogged: the services without a log of the changes of their fields.
    /// - Returns: nil if not all of them are in the list, or if they were composed with other fields.
    func replacing(
        with composed: RoomComposer.Composed, by sort: RoomSort, degraded: Set<String>, unlogged services: Set<String>
    ) -> RoomList? {
        let ids = Set(composed.rooms.map(\.id))
        let others = parts.filter { !ids.contains($0.id) }
        guard others.count + ids.count == parts.count, composed.catalogRevision == catalogRevision else { return nil }
        let order = composed.fields.order(sort)
        let degraded = degraded.union(composed.degraded)
        let unlogged = unlogged.replacing(with: composed.unlogged) { degraded.contains($0) || services.contains($0) }
        return RoomList(
            others + composed.rooms.map { Part($0, by: order) }, composed, degraded.sorted(), unlogged,
            present.filter { !ids.contains($0.key) }.merging(composed.present) { _, new in new }, presenceChanges)
    }

    private init(
        _ parts: [Part], _ composed: RoomComposer.Composed, _ degraded: [String], _ unlogged: UnloggedValues,
        _ present: [String: Set<String>], _ presenceChanges: Int
    ) {
        let sorted = parts.sorted { $0.key < $1.key }
        var ranges: [Range<Int>] = []
        ranges.reserveCapacity(parts.count)
        body = JSONWriter.bytes(reservingCapacity: parts.reduce(64) { $0 + $1.json.bytes.count + 1 }) { json in
            json.object { json in
                json.name("data")
                json.array(of: sorted) { json, part in
                    json.value(part.json)
                    ranges.append(json.bytes.count - part.json.bytes.count..<json.bytes.count)
                }
                guard !degraded.isEmpty else { return }
                json.member("degraded", array: { for name in degraded { $0.string(name) } })
            }
        }
        let digests = sorted.flatMap(\.digest) + Array(degraded.joined(separator: ",").utf8)
        tag = EntityTag(Base64URL.encode(SHA256.hash(digests)))
        // Keep only the body, and not what it was composed from.
        self.parts = zip(sorted, ranges).map { [body] in Part($0, at: $1, in: body) }
        self.present = present
        self.degraded = degraded
        self.unlogged = unlogged
        catalogRevision = composed.catalogRevision
        self.presenceChanges = presenceChanges
    }

    var count: Int { parts.count }

    var roomIDs: [String] { parts.map(\.id) }

    func contains(_ roomIDs: some Collection<String>) -> Bool {
        roomIDs.isEmpty || Set(roomIDs).isSubset(of: self.roomIDs)
    }

    /// Returns a room of the list.
    func room(_ id: String) -> JSONValue? { parts.first { $0.id == id }?.json }

    /// The approximate size in the cache.
    var size: Int { body.count + parts.count * 224 + present.count * 256 + unlogged.size + 512 }

    /// Returns the list, or 304 if the client has it already (RFC 9110, section 13.1.2). Caches must
    /// revalidate each time, as a list may change at any time.
    package func response(to headers: HTTPHeaders) -> HTTPResponse {
        var response = HTTPResponse(status: headers.ifNoneMatch(names: tag) ? 304 : 200)
        response.headers.add("ETag", tag.text)
        response.headers.add("Cache-Control", "private, no-cache")
        response.headers.add("X-Content-Type-Options", "nosniff")
        if response.status == 200 {
            response.headers.add("Content-Type", "application/json")
            response.body = body
        }
        return response
    }
}

import HTTP
import JSON
import Security

/// A list of rooms as one person sees them, in the form that is sent, with the parts of it that are
/// in no event log.
package struct RoomList: Sendable {
    /// A room as it stands in the body.
    private struct Part: Sendable {
        let key: SortKey
        let json: JSONValue

        init(_ room: ComposedRoom, by order: RoomOrder) { (key, json) = (room.key(by: order), room.json) }

        init(_ part: Part, at range: Range<Int>, in body: [UInt8]) {
            (key, json) = (part.key, JSONValue(trusted: body[range]))
        }

        var id: String { key.id }
    }

    package let body: [UInt8]
    /// A digest of the body: the same from each gateway, and after a restart. People in a room
    /// write what others see of it, so nobody must be able to find two bodies with the same tag.
    let tag: EntityTag
    private let parts: [Part]
    let present: [String: Set<String>]
    /// True if each service's part is fresh.
    let isWhole: Bool
    let catalogRevision: Int
    /// `Presence.changes`, at a time when `present` was so.
    var presenceChanges: Int

    init(_ composed: RoomComposer.Composed, by sort: RoomSort) {
        let order = composed.fields.order(sort)
        self.init(composed.rooms.map { Part($0, by: order) }, composed, composed.present, composed.presenceChanges)
    }

    /// The list with some of its rooms as they are now.
    ///
    /// - Returns: nil if not all of them are in the list, or if they were composed from other fields.
    func replacing(with composed: RoomComposer.Composed, by sort: RoomSort) -> RoomList? {
        let ids = Set(composed.rooms.map(\.id))
        let others = parts.filter { !ids.contains($0.id) }
        guard others.count + ids.count == parts.count, composed.catalogRevision == catalogRevision else { return nil }
        let order = composed.fields.order(sort)
        return RoomList(
            others + composed.rooms.map { Part($0, by: order) }, composed,
            present.filter { !ids.contains($0.key) }.merging(composed.present) { _, new in new }, presenceChanges)
    }

    private init(
        _ parts: [Part], _ composed: RoomComposer.Composed, _ present: [String: Set<String>], _ presenceChanges: Int
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
                guard !composed.degraded.isEmpty else { return }
                json.member("degraded", array: { for name in composed.degraded { $0.string(name) } })
            }
        }
        tag = EntityTag(Base64URL.encode(SHA256.hash(body)))
        // Nothing but the body is kept of what they were made of.
        self.parts = zip(sorted, ranges).map { [body] in Part($0, at: $1, in: body) }
        self.present = present
        isWhole = composed.degraded.isEmpty
        catalogRevision = composed.catalogRevision
        self.presenceChanges = presenceChanges
    }

    var count: Int { parts.count }

    var roomIDs: [String] { parts.map(\.id) }

    func contains(_ roomIDs: some Collection<String>) -> Bool {
        roomIDs.isEmpty || Set(roomIDs).isSubset(of: self.roomIDs)
    }

    /// A room as it stands in the list.
    func room(_ id: String) -> JSONValue? { parts.first { $0.id == id }?.json }

    /// Its approximate size in the cache.
    var size: Int { body.count + parts.count * 160 + present.count * 256 + 512 }

    /// The answer, or that the client has it already (RFC 9110, section 13.1.2). Caches have to ask each time: nothing says for how long
    /// a list stays what it is.
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

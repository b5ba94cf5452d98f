import HTTP
import JSON
import Security

/// A list of rooms as one person sees them, as it is sent, and what of it no event log tells.
struct RoomList: Sendable {
    let body: [UInt8]
    /// A digest of the body: the same from each gateway, and after a restart. Whoever is in a room writes what others see of it, so
    /// two bodies with one tag must not be findable.
    let tag: EntityTag
    let roomIDs: [String]
    let present: [String: Set<String>]
    /// Whether each service's share is fresh.
    let isWhole: Bool
    let catalogRevision: Int
    /// `Presence.changes`, at a time when `present` was so.
    var presenceChanges: Int

    init(_ composed: RoomComposer.Composed, by sort: ComposedRoom.Sort) {
        body = JSONWriter.bytes(reservingCapacity: composed.rooms.count * 1280 + 64) { json in
            json.object { json in
                json.name("data")
                ComposedRoom.write(composed.rooms, by: sort, to: &json)
                guard !composed.degraded.isEmpty else { return }
                json.member("degraded", array: { for name in composed.degraded { $0.string(name) } })
            }
        }
        tag = EntityTag(Base64URL.encode(SHA256.hash(body)))
        roomIDs = composed.rooms.map(\.id)
        present = composed.present
        isWhole = composed.degraded.isEmpty
        catalogRevision = composed.catalogRevision
        presenceChanges = composed.presenceChanges
    }

    /// What keeping it takes, roughly: an id takes some forty bytes, sixteen more in its list.
    var size: Int { body.count + roomIDs.count * 56 + present.count * 256 + 512 }

    /// The answer, or that the client has it already (RFC 9110, section 13.1.2). Caches have to ask each time: nothing says for how long
    /// a list stays what it is.
    func response(to headers: HTTPHeaders) -> HTTPResponse {
        var response = HTTPResponse(status: headers.ifNoneMatch(names: tag) ? 304 : 200)
        response.headers.add("ETag", tag.text)
        response.headers.add("Cache-Control", "private, no-cache")
        if response.status == 200 {
            response.headers.add("Content-Type", "application/json")
            response.body = body
        }
        return response
    }
}

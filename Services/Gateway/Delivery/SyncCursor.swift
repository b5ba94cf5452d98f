import Contracts
import EventLog
import JSON
import Security

/// How far a client has been told of every service's event log.
package struct SyncCursor: Sendable, Equatable {
    package struct Place: Sendable, Equatable {
        var bookmark: LogPosition
        /// Events of the entry after the bookmark that were given already: a page may end within an entry.
        var taken = 0
    }

    /// By stream.
    var places: [String: Place]

    package init(_ bookmarks: [String: LogPosition]) { places = bookmarks.mapValues { Place(bookmark: $0) } }

    init(places: [String: Place]) { self.places = places }
}

/// Writes cursors for clients, who can neither read, change nor share them: signed together with the person's id.
///
/// `BASE64URL(HMAC-SHA-256, cut to 16 bytes, then the places as JSON)`. All gateways that have the same secret read it.
package struct SyncCursorCodec: Sendable {
    private let key: [UInt8]
    private static let signatureLength = 16
    /// A cursor has some hundred bytes for each stream: what is longer is none.
    private static let maxLength = 8192

    /// - Parameter secret: the one that tokens are signed with; another key is derived from it.
    package init(secret: [UInt8]) { key = HMACSHA256.authenticate(Array("parlor sync cursor".utf8), key: secret) }

    package func encode(_ cursor: SyncCursor, for userID: String) -> String {
        let body = JSONWriter.bytes { json in
            json.object {
                for (stream, place) in cursor.places.sorted(by: { $0.key < $1.key }) {
                    $0.member(
                        stream,
                        object: {
                            place.bookmark.writeMembers(to: &$0)
                            if place.taken > 0 { $0.member("taken", place.taken) }
                        })
                }
            }
        }
        return Base64URL.encode(signature(of: body[...], for: userID) + body)
    }

    /// nil if it is not a cursor that was made for this person.
    package func decode(_ text: String, for userID: String) -> SyncCursor? {
        guard text.utf8.count <= Self.maxLength, let bytes = Base64URL.decode(text),
            bytes.count > Self.signatureLength
        else { return nil }
        let body = bytes[Self.signatureLength...]
        guard constantTimeEquals(Array(bytes[..<Self.signatureLength]), signature(of: body, for: userID)) else {
            return nil
        }
        // One that was signed is ours; an older version's may still be written in another way.
        guard let streams = try? JSONValue(parsing: body).object else { return nil }
        var places: [String: SyncCursor.Place] = [:]
        for (stream, value) in streams.all {
            guard let object = value.object, let bookmark = LogPosition(object) else { return nil }
            places[stream] = .init(bookmark: bookmark, taken: object["taken"]?.int ?? 0)
        }
        return SyncCursor(places: places)
    }

    private func signature(of body: ArraySlice<UInt8>, for userID: String) -> [UInt8] {
        // No id has a NUL in it.
        Array(HMACSHA256.authenticate(Array(userID.utf8) + [0] + body, key: key).prefix(Self.signatureLength))
    }
}

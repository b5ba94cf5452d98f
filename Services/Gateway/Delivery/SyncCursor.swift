import Contracts
import EventLog
import JSON
import Security

/// The positions in every service's event log up to which a client has all events.
package struct SyncCursor: Sendable, Equatable {
    package struct StreamState: Sendable, Equatable {
        var position: LogPosition
        /// Events of the entry after the bookmark that were given already: a page may end within an entry.
        var taken = 0
    }

    /// By stream.
    var streams: [String: StreamState]

    package init(_ positions: [String: LogPosition]) { streams = positions.mapValues { StreamState(position: $0) } }

    init(streams: [String: StreamState]) { self.streams = streams }
}

/// Writes cursors for clients, who can neither read, change nor share them: signed together with the person's id.
///
/// `BASE64URL(HMAC-SHA-256, cut to 16 bytes, then the streams as JSON)`. All gateways that have the same secret read it.
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
                for (stream, state) in cursor.streams.sorted(by: { $0.key < $1.key }) {
                    $0.member(
                        stream,
                        object: {
                            state.position.writeMembers(to: &$0)
                            if state.taken > 0 { $0.member("taken", state.taken) }
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
        guard let object = try? JSONValue(parsing: body).object else { return nil }
        var streams: [String: SyncCursor.StreamState] = [:]
        for (stream, value) in object.all {
            guard let members = value.object, let position = LogPosition(members) else { return nil }
            streams[stream] = .init(position: position, taken: members["taken"]?.int ?? 0)
        }
        return SyncCursor(streams: streams)
    }

    private func signature(of body: ArraySlice<UInt8>, for userID: String) -> [UInt8] {
        // No id has a NUL in it.
        Array(HMACSHA256.authenticate(Array(userID.utf8) + [0] + body, key: key).prefix(Self.signatureLength))
    }
}

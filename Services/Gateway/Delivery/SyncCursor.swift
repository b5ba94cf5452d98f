import ParlorContracts
import ParlorEventLog
import ParlorSecurity

/// The positions in every service's event log up to which a client has all events.
package struct SyncCursor: Sendable, Equatable {
    package struct LogState: Sendable, Equatable {
        var position: LogPosition
        /// How many events of the next entry were returned already. A page may end within an entry.
        var taken = 0
    }

    /// The states by log.
    var logs: [LogID: LogState]

    /// - Parameter unknown: the logs that services are known to have and whose positions are not known. Once one of them is
    ///   read, the cursor does not fit any more, and its client loads everything again.
    package init(_ positions: [LogID: LogPosition], unknown: Set<LogID> = []) {
        logs = positions.mapValues { LogState(position: $0) }
        for logID in unknown { logs[logID] = LogState(position: .unknown) }
    }

    /// The position in each log up to which the client has all events. It may also have some of the next entry's.
    package var positions: [LogID: LogPosition] { logs.mapValues(\.position) }

    init(logs: [LogID: LogState]) { self.logs = logs }
}

extension LogPosition {
    /// The position in a cursor that stands for an unknown one. It is that of no database.
    static let unknown = LogPosition(databaseID: "", seq: 0, digest: 0)
}

/// Encodes cursors for clients. A signature over the cursor and the person's id prevents changes and use by others.
///
/// The format is `BASE64URL(HMAC-SHA-256, truncated to 16 bytes, then the cursor's bytes)`. All gateways with the same
/// secret can decode it.
package struct SyncCursorCodec: Sendable {
    private let key: [UInt8]
    private static let signatureLength = 16
    /// The length limit of a cursor, which has some 20 characters for each log, and 40 for each service.
    private static let maxLength = 8192

    /// - Parameter secret: the secret that signs tokens; another key is derived from it.
    package init(secret: [UInt8]) { key = HMACSHA256.authenticate(Array("parlor sync cursor".utf8), key: secret) }

    package func encode(_ cursor: SyncCursor, for userID: String) -> String {
        let body = cursor.bytes
        return Base64URL.encode(signature(of: body[...], for: userID) + body)
    }

    /// Decodes a cursor; nil if it was not made for this person.
    package func decode(_ text: String, for userID: String) -> SyncCursor? {
        guard text.utf8.count <= Self.maxLength, let bytes = Base64URL.decode(text),
            bytes.count > Self.signatureLength
        else { return nil }
        let body = bytes[Self.signatureLength...]
        guard constantTimeEquals(Array(bytes[..<Self.signatureLength]), signature(of: body, for: userID)) else {
            return nil
        }
        // A signed cursor is ours, but another version may have used another format.
        return SyncCursor(bytes: body) ?? SyncCursor(older: body)
    }

    private func signature(of body: ArraySlice<UInt8>, for userID: String) -> [UInt8] {
        // Ids contain no NUL.
        Array(HMACSHA256.authenticate(Array(userID.utf8) + [0] + body, key: key).prefix(Self.signatureLength))
    }
}

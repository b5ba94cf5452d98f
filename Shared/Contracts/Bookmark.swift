import JSON

/// A place in a service's event log that can be found again, or is known to be gone.
///
/// A position alone says nothing of a restored backup, whose log goes on from an earlier one with other entries under the
/// same numbers. So a bookmark also names the database, and what stood at the position: it is good only where both are
/// as they were (the check that Raft makes of an entry before the new one, section 5.3 of its paper).
public struct Bookmark: Sendable, Equatable {
    public let databaseID: String
    /// The last entry before the place; 0 at the log's beginning.
    public let seq: Int
    /// Of the entry at `seq`; 0 at the beginning.
    public let digest: Int

    public init(databaseID: String, seq: Int, digest: Int) {
        self.databaseID = databaseID
        self.seq = seq
        self.digest = digest
    }

    /// After an entry of a database's log.
    public init(after entry: StreamEntry, in databaseID: String) {
        self.init(databaseID: databaseID, seq: entry.seq, digest: entry.digest)
    }

    public func writeMembers(to json: inout JSONWriter) {
        json.member("databaseId", databaseID)
        json.member("seq", seq)
        json.member("digest", digest)
    }

    /// nil if it is not what `writeMembers(to:)` writes.
    public init?(_ object: JSONObject) {
        guard let databaseID = object["databaseId"]?.string, let seq = object["seq"]?.int, seq >= 0,
            let digest = object["digest"]?.int
        else { return nil }
        self.init(databaseID: databaseID, seq: seq, digest: digest)
    }
}

extension StreamEntry {
    /// Tells this entry from any other that could have had its number: FNV-1a, 32 bits, of its time and emissions, which
    /// have random ids in them. Against accidents; a cursor that clients hold is signed besides.
    public var digest: Int {
        var hash: UInt32 = 2_166_136_261
        func mix(_ byte: UInt8) { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        withUnsafeBytes(of: at.milliseconds.littleEndian) { for byte in $0 { mix(byte) } }
        emissionsJSON.bytes.withUnsafeBufferPointer { for byte in $0 { mix(byte) } }
        return Int(hash)
    }
}

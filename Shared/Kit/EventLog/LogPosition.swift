import ParlorContracts
import ParlorJSON

/// A position in a service's event log that can be verified later.
///
/// A number alone is ambiguous after a backup is restored: the log then continues from an earlier entry with
/// other entries under the same numbers. So a position also names the database, and has a digest of the entry
/// there. It is valid only if both match. (Raft makes the same check of the entry before a new one, section
/// 5.3 of its paper.)
public struct LogPosition: Sendable, Equatable {
    public let databaseID: String
    /// The number of the last entry before the position; 0 at the log's beginning.
    public let seq: Int
    /// The digest of the entry at `seq`; 0 at the beginning.
    public let digest: Int

    public init(databaseID: String, seq: Int, digest: Int) {
        self.databaseID = databaseID
        self.seq = seq
        self.digest = digest
    }

    /// Creates the position after an entry of a database's log; before the first if there is none.
    public init(after entry: LogEntry?, in databaseID: String) {
        self.init(databaseID: databaseID, seq: entry?.seq ?? 0, digest: entry?.digest ?? 0)
    }

    public func writeMembers(to json: inout JSONWriter) {
        json.member("databaseId", databaseID)
        json.member("seq", seq)
        json.member("digest", digest)
    }

    /// Parses the result of `writeMembers(to:)`; nil for anything else.
    public init?(_ object: JSONObject) {
        guard let databaseID = object["databaseId"]?.string, let seq = object["seq"]?.logNumber,
            let digest = object["digest"]?.int
        else { return nil }
        self.init(databaseID: databaseID, seq: seq, digest: digest)
    }
}

extension LogEntry {
    /// A digest that distinguishes this entry from others that could have had its number. It is a 52-bit hash of
    /// the entry's time, fact and emissions; the emissions contain random ids. It processes eight bytes at a time.
    /// Without a fact and emissions it depends on the time alone.
    ///
    /// It protects against accidents. A cursor that clients hold is signed as well.
    public var digest: Int {
        if let writtenDigest { return writtenDigest }
        var hash = UInt64(bitPattern: Int64(at.milliseconds))
        func mix(_ word: UInt64) {
            // The finaliser of SplitMix64, which spreads each bit over all others.
            hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 30
            hash = hash &* 0xBF58_476D_1CE4_E5B9
            hash ^= hash >> 27
        }
        emissionsJSON.bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset + 8 <= bytes.count {
                mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
                offset += 8
            }
            var tail: UInt64 = 0
            for byte in bytes[offset...] { tail = tail << 8 | UInt64(byte) }
            mix(tail)
            mix(UInt64(bytes.count))
        }
        return Int(hash >> 12)
    }
}

import Glibc
import ParlorJSON
import Synchronization

/// The participants of rooms with many, as last read: entries with the same people share one list. The lists' JSON is
/// compared, so it does not matter which version of a room's record an entry is from.
final class ParticipantLists: Sendable {
    private struct Known {
        let json: JSONValue
        let ids: [String]
    }

    private let known = Mutex<[String: Known]>([:])

    /// The bytes up to which a list is read each time.
    static let shortBytes = 400
    /// The limit of rooms, which have up to 100 people. At 14 KB each these are 14 MB.
    private static let maxRooms = 1000

    /// Reads the ids in an array; nil if one of them is no string, and for any other value.
    func ids(in json: JSONValue, ofRoom roomID: String) -> [String]? {
        guard json.bytes.count > Self.shortBytes else { return json.list(of: \.string) }
        if let known = known.withLock({ $0[roomID] }), Self.areEqual(known.json, json) { return known.ids }
        guard let ids = json.list(of: \.string) else { return nil }
        known.withLock { known in
            if known.count >= Self.maxRooms { known = [:] }
            known[roomID] = Known(json: json.detached, ids: ids)
        }
        return ids
    }

    private static func areEqual(_ a: JSONValue, _ b: JSONValue) -> Bool {
        a.bytes.withUnsafeBytes { a in
            b.bytes.withUnsafeBytes { b in
                // Both are longer than `shortBytes`, and so have addresses.
                a.count == b.count && memcmp(a.baseAddress!, b.baseAddress!, a.count) == 0
            }
        }
    }
}

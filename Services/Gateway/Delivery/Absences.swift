import ParlorContracts
import ParlorEventLog

/// The people who have left rooms or are still coming to them, as far as fences and entries have said so: a room's events no
/// longer reach them, or not yet. One for each loop.
package struct Absences {
    /// The limit of what is remembered of each kind. Beyond twice as much, the earliest is forgotten.
    static let maxCount = 50_000

    private struct Key: Hashable {
        let userID: String
        let roomID: String
    }

    /// The version of the room's record that took the person out of it, or brings them into it.
    private var versions = RecentTable<Key, Int>(maxCount: maxCount)
    /// The version of each room's last complete change.
    private var completed = RecentTable<String, Int>(maxCount: maxCount)
    /// The position of the last entry of Rooms' log with which each person came to a room, or left one before the start.
    private var arrivals = RecentTable<String, Int>(maxCount: maxCount)
    /// The position before which any person may have come or left.
    private var floor = Int.max
    /// The position of the last noted entry.
    private var last = 0
    /// True while changes may have been missed.
    var isUncertain = false

    /// Returns true if an event of a room may not be sent to a person.
    func has(_ userID: String, in roomID: String) -> Bool {
        !versions.isEmpty && versions[Key(userID: userID, roomID: roomID)] != nil
    }

    /// Returns true if a person may be in a room with a record of this version, as far as is known.
    package func admit(_ userID: String, to roomID: String, recordVersion: Int) -> Bool {
        versions.isEmpty || recordVersion >= versions[Key(userID: userID, roomID: roomID)] ?? 0
    }

    /// Returns true if a person may have come to a room after a cursor: what was written there before that is missing among
    /// the entries in memory, which name those who were there. Entries of a room that the person has left, or is coming to,
    /// are there, and `has` says so.
    func mayHaveCome(_ userID: String, since cursor: SyncCursor) -> Bool {
        // A gateway that does not follow Rooms' log yet has nothing in memory.
        guard let seq = cursor.logs[LogID.rooms]?.position.seq else { return isUncertain }
        return isUncertain || seq < max(floor == .max ? 0 : floor, arrivals[userID] ?? 0)
    }

    // MARK: Changes

    /// Begins with Rooms' log after a position. Of earlier changes nothing is known any more: their entries are not received.
    mutating func start(_ logID: LogID, after position: LogPosition) {
        guard logID == LogID.rooms else { return }
        let wasUncertain = isUncertain
        self = Absences()
        (isUncertain, floor, last) = (wasUncertain, position.seq, position.seq)
    }

    /// Notes entries of Rooms' log from before its start here.
    mutating func backfill(_ logID: LogID, _ entries: [Broadcast], from start: LogPosition) {
        guard logID == LogID.rooms else { return }
        var isWhole = true
        for broadcast in entries {
            guard let change = broadcast.entry.fact?.peopleChanged else { continue }
            for userID in change.joined + change.left
            where arrivals.set(max(arrivals[userID] ?? 0, broadcast.position.seq), for: userID) {
                isWhole = false
            }
        }
        if isWhole { floor = min(floor, start.seq) }
    }

    /// Notes a fence: the people who leave are absent from now on, and so are those who are still coming. Does nothing for a
    /// change that is complete.
    ///
    /// - Returns: false for such a change.
    @discardableResult
    mutating func note(_ change: PeopleChange) -> Bool {
        guard change.version > completed[change.roomID] ?? 0 else { return false }
        for userID in change.left.map(\.userID) + change.joined {
            setVersion(change.version, of: Key(userID: userID, roomID: change.roomID))
        }
        return true
    }

    /// Notes a complete change: the people who came are in the room from now on.
    ///
    /// - Parameter seq: its entry's number in Rooms' log.
    /// - Returns: the people who have left with it, without those of whom a later change is known.
    mutating func note(
        _ change: (version: Int, joined: [String], left: [String]), in roomID: String, at seq: Int
    ) -> [String] {
        last = max(last, seq)
        completed[roomID] = max(completed[roomID] ?? 0, change.version)
        for userID in change.joined {
            let key = Key(userID: userID, roomID: roomID)
            if versions[key] ?? .max <= change.version { versions[key] = nil }
            if arrivals.set(seq, for: userID) { forgetEarlier() }
        }
        return change.left.filter { userID in
            let key = Key(userID: userID, roomID: roomID)
            guard versions[key] ?? 0 <= change.version else { return false }
            setVersion(change.version, of: key)
            return true
        }
    }

    private mutating func setVersion(_ version: Int, of key: Key) {
        if versions.set(max(versions[key] ?? 0, version), for: key) { forgetEarlier() }
    }

    /// Notes that people were forgotten: any person may have come or left until now.
    private mutating func forgetEarlier() { floor = max(floor == .max ? 0 : floor, last) }
}

extension LogID {
    static let rooms = LogID("rooms")
}

/// A table that forgets its earliest values, many at once.
private struct RecentTable<Key: Hashable, Value> {
    private let maxCount: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    init(maxCount: Int) { self.maxCount = maxCount }

    var isEmpty: Bool { young.isEmpty && old.isEmpty }

    subscript(key: Key) -> Value? {
        get { young[key] ?? old[key] }
        set {
            guard let newValue else {
                young[key] = nil
                old[key] = nil
                return
            }
            _ = set(newValue, for: key)
        }
    }

    /// - Returns: true if values were forgotten.
    mutating func set(_ value: Value, for key: Key) -> Bool {
        young[key] = value
        guard young.count > maxCount else { return false }
        (old, young) = (young, [:])
        return true
    }
}

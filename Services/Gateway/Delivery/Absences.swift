import ParlorContracts
import ParlorEventLog

/// The people who have left rooms or are still coming to them, as far as fences and entries have said so: a room's events no
/// longer reach them, or not yet. One for each loop.
package struct Absences {
    /// The limit of what is remembered of each kind. Beyond twice as much, the earliest is forgotten.
    static let maxCount = 50_000
    /// The limit of entries that wait for the first `catchUp`, which brings the earlier ones.
    private static let maxEarly = 1000

    private struct Key: Hashable {
        let userID: String
        let roomID: String
    }

    /// The version of the room's record that took the person out of it, or brings them into it.
    private var versions = RecentTable<Key, Int>(maxCount: maxCount)
    /// The version of each room's last complete change.
    private var completed = RecentTable<String, Int>(maxCount: maxCount)
    /// The rooms to which each person came.
    private var arrivals = RecentTable<String, Arrivals>(maxCount: maxCount)
    /// The position before which any person may have come or left.
    private var floor = 0
    /// The position of the last noted entry.
    private var last = 0
    /// True while changes may have been missed.
    private var isUncertain = false
    /// The position from which Rooms' log is followed.
    private var start: LogPosition?
    /// The entries noted since the start, until the first `catchUp`: those from before it are noted first.
    private var notedEarly: [LogEntry] = []
    /// The position at which all earlier changes are complete or noted; nil before this gateway has first caught up.
    private var knownUpTo: Int?

    /// True once the changes from before the start of Rooms' log are known.
    var isCaughtUp: Bool { knownUpTo != nil }

    /// Returns true if an event of a room may not be sent to a person.
    func has(_ userID: String, in roomID: String) -> Bool {
        !versions.isEmpty && versions[Key(userID: userID, roomID: roomID)] != nil
    }

    /// Notes that Rooms' record of this version has the person.
    ///
    /// - Parameter seq: the position in Rooms' log; the entry that says so comes after it.
    mutating func noteRecord(_ version: Int, of userID: String, in roomID: String, after seq: Int) {
        let key = Key(userID: userID, roomID: roomID)
        guard !versions.isEmpty, versions[key] ?? .max <= version else { return }
        versions[key] = nil
        noteArrival(of: userID, in: roomID, at: seq + 1)
    }

    private mutating func noteArrival(of userID: String, in roomID: String, at seq: Int) {
        var known = arrivals[userID] ?? Arrivals()
        known.note(roomID, at: seq)
        if arrivals.set(known, for: userID) { forgetEarlier() }
    }

    /// Returns true if a person may be in a room with a record of this version, as far as is known.
    package func admit(_ userID: String, to roomID: String, recordVersion: Int) -> Bool {
        versions.isEmpty || recordVersion >= versions[Key(userID: userID, roomID: roomID)] ?? 0
    }

    /// Returns the rooms to which a person has come after a cursor: entries from before that do not name them. Entries of a room
    /// that the person has left, or is coming to, may name them, and `has` says so.
    ///
    /// - Returns: nil if the person may have come to other rooms.
    func arrivals(of userID: String, since cursor: SyncCursor) -> Set<String>? {
        // Without Rooms' log there are no changes to know of.
        guard let seq = cursor.logs[.rooms]?.position.seq else { return isUncertain ? nil : [] }
        guard !isUncertain, seq >= floor else { return nil }
        guard let known = arrivals[userID] else { return [] }
        return known.rooms(since: seq)
    }

    // MARK: Changes

    /// Notes that changes may be missed from now on.
    mutating func lose() { isUncertain = true }

    /// Begins with Rooms' log after a position; entries from before are not received. Of changes in another database nothing is
    /// known any more.
    mutating func start(_ logID: LogID, after position: LogPosition) {
        guard logID == .rooms else { return }
        let earlier = self
        if start?.databaseID != position.databaseID {
            self = Absences()
            isUncertain = earlier.isUncertain || !earlier.isCaughtUp
            if earlier.isCaughtUp { knownUpTo = 0 }
        }
        (floor, last, start) = (position.seq, position.seq, position)
    }

    /// Notes all changes that this gateway may have missed.
    ///
    /// - Returns: the people who are absent now from a room that they left with these; nil if these are of another log.
    mutating func catchUp(with missed: OutputLease.UnappliedChanges) -> [String]? {
        guard let start, missed.databaseID == start.databaseID else { return nil }
        let early = notedEarly
        if !isCaughtUp {
            self = Absences()
            (self.start, floor, last) = (start, missed.start, start.seq)
        }
        for entry in missed.completed + early { note(entry) }
        for change in missed.pending { note(change) }
        (isUncertain, knownUpTo, notedEarly) = (false, start.seq, [])
        return Array(Set(missed.left.filter { has($0.userID, in: $0.roomID) }.map(\.userID)))
    }

    /// Notes a fence: the people who leave are absent from now on, and so are those who are still coming. Does nothing for a
    /// change that is complete, also if it was before the start of Rooms' log: that fence was held up on its way.
    ///
    /// - Returns: false for such a change.
    @discardableResult
    mutating func note(_ change: PeopleChange) -> Bool {
        guard change.version > completed[change.roomID] ?? 0, change.storedAfter ?? .max >= knownUpTo ?? 0 else {
            return false
        }
        for userID in change.left.map(\.userID) + change.joined {
            setVersion(change.version, of: Key(userID: userID, roomID: change.roomID))
        }
        return true
    }

    /// Notes an entry of Rooms' log: who came with its change is in the room from now on, and who left is absent, unless a
    /// later change of them is known. Does nothing for an entry that is noted already.
    ///
    /// - Returns: false for such an entry, and for one without a change.
    @discardableResult
    mutating func note(_ entry: LogEntry) -> Bool {
        last = max(last, entry.seq)
        let roomID = entry.roomID
        guard let change = entry.fact?.peopleChanged, change.version > completed[roomID] ?? 0 else { return false }
        completed[roomID] = change.version
        if !isCaughtUp, start != nil {
            if notedEarly.count == Self.maxEarly { notedEarly.removeFirst() }
            notedEarly.append(entry)
        }
        for userID in change.joined {
            let key = Key(userID: userID, roomID: roomID)
            if versions[key] ?? .max <= change.version { versions[key] = nil }
            noteArrival(of: userID, in: roomID, at: entry.seq)
        }
        for userID in change.left { setVersion(change.version, of: Key(userID: userID, roomID: roomID)) }
        return true
    }

    private mutating func setVersion(_ version: Int, of key: Key) {
        if versions.set(max(versions[key] ?? 0, version), for: key) { forgetEarlier() }
    }

    /// Notes that people were forgotten: any person may have come or left until now.
    private mutating func forgetEarlier() { floor = max(floor, last) }
}

extension LogID {
    static let rooms = LogID("rooms")
}

/// The rooms to which a person came, each with the number of the entry in Rooms' log that says so.
private struct Arrivals {
    private static let maxRooms = 64

    private var rooms: [String: Int] = [:]
    /// The last of those that are forgotten.
    private var floor = 0

    mutating func note(_ roomID: String, at seq: Int) {
        if rooms.count == Self.maxRooms { (floor, rooms) = (rooms.values.max() ?? 0, [:]) }
        rooms[roomID] = seq
    }

    /// - Returns: nil if some are forgotten.
    func rooms(since seq: Int) -> Set<String>? { seq < floor ? nil : Set(rooms.filter { $0.value > seq }.keys) }
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

import ParlorContracts

/// The people who have left rooms or are still coming to them, as far as fences have said so: a room's events no longer reach
/// them, or not yet. One for each loop.
package struct Absences {
    /// The limit of rooms and people. Beyond it, the earliest are forgotten: by then services no longer name them.
    static let maxCount = 100_000

    private struct Key: Hashable {
        let userID: String
        let roomID: String
    }

    /// The version of the room's record that took the person out of it, or brings them into it.
    private var versions: [Key: Int] = [:]
    private var order: [Key] = []
    /// The position of the last entry of Rooms' log that changed each person's rooms; `Int.max` while it is still to come.
    private var changes: [String: Int] = [:]
    /// The position before which any person's rooms may have changed.
    private var floor = 0
    /// True while changes may have been missed.
    var isUncertain = false

    /// Returns true if an event of a room may not be sent to a person.
    func has(_ userID: String, in roomID: String) -> Bool {
        !versions.isEmpty && versions[Key(userID: userID, roomID: roomID)] != nil
    }

    /// Returns true if a person may be in a room with a record of this version, as far as fences have said.
    package func admit(_ userID: String, to roomID: String, recordVersion: Int) -> Bool {
        versions.isEmpty || recordVersion >= versions[Key(userID: userID, roomID: roomID)] ?? 0
    }

    /// Returns true if a person's rooms may have changed after a cursor: the entries in memory are then of other rooms.
    func haveRoomsChanged(of userID: String, since cursor: SyncCursor) -> Bool {
        isUncertain || cursor.logs[Self.roomsLog]?.position.seq ?? 0 < max(floor, changes[userID] ?? 0)
    }

    private static let roomsLog = LogID("rooms")

    /// Notes a fence: the people who leave are absent from now on, and so are those who are still coming.
    mutating func note(_ change: PeopleChange) {
        for userID in change.left.map(\.userID) + change.joined {
            let key = Key(userID: userID, roomID: change.roomID)
            guard versions[key] ?? 0 < change.version else { continue }
            if versions.updateValue(change.version, forKey: key) == nil { order.append(key) }
            changes[userID] = .max
        }
        guard versions.count > Self.maxCount else { return }
        for key in order.prefix(order.count / 2) { versions[key] = nil }
        order.removeFirst(order.count / 2)
    }

    /// Notes a completed change: the people who came are in the room from now on.
    ///
    /// - Parameter seq: its entry's number in Rooms' log.
    mutating func note(_ change: (version: Int, joined: [String], left: [String]), in roomID: String, at seq: Int) {
        for userID in change.joined {
            let key = Key(userID: userID, roomID: roomID)
            if versions[key] ?? .max <= change.version { versions[key] = nil }
        }
        for userID in change.joined + change.left { changes[userID] = seq }
        if changes.count > Self.maxCount {
            changes = changes.filter { $0.value == .max }
            floor = seq
        }
    }
}

import Foundation

/// Rooms in a sort order, with lookup by id.
struct SortedRooms: Sendable {
    var order: RoomOrder {
        didSet { if order != oldValue { replaceAll(with: all) } }
    }
    private(set) var all: [Room] = []
    /// Rises with each change of `all`.
    private(set) var version = 0
    /// Rises when a room is added or removed.
    private(set) var membership = 0
    /// The date of each room's sort key, by id.
    private var dates: [String: Date] = [:]

    init(order: RoomOrder) { self.order = order }

    subscript(id: String) -> Room? { index(of: id).map { all[$0] } }

    func contains(_ id: String) -> Bool { dates[id] != nil }

    mutating func replaceAll(with rooms: [Room]) {
        let before = (rooms: all, ids: dates.keys)
        all = rooms.sorted { order.sorts($0, before: $1) }
        dates = Dictionary(all.map { ($0.id, order.key(of: $0).date) }) { $1 }
        if all != before.rooms { version += 1 }
        if dates.keys != before.ids { membership += 1 }
    }

    mutating func put(_ room: Room) {
        if contains(room.id) { return change(room.id) { $0 = room } }
        insert(room)
        version += 1
        membership += 1
    }

    mutating func remove(_ id: String) {
        guard let index = index(of: id) else { return }
        all.remove(at: index)
        dates[id] = nil
        version += 1
        membership += 1
    }

    mutating func change(_ id: String, _ body: (inout Room) -> Void) {
        guard let index = index(of: id) else { return }
        var room = all[index]
        body(&room)
        guard room != all[index] else { return }
        version += 1
        if order.key(of: room) == order.key(of: all[index]) {
            all[index] = room
        } else {
            all.remove(at: index)
            insert(room)
        }
    }

    /// Returns a time with milliseconds for a change in a second. It is later than all known times of that second.
    ///
    /// - Returns: also whether another room has a time in that second, so that the real order is unknown.
    func fullTime(of second: Date, in roomID: String) -> (time: Date, isAmongOthers: Bool) {
        let known = all.filter { (0..<1).contains($0.lastActivityDate.timeIntervalSince(second)) }
        let newest = known.map(\.lastActivityDate).max()
        let time = newest.map { min($0.addingTimeInterval(0.0005), second.addingTimeInterval(0.9995)) }
        return (time ?? second, known.contains { $0.id != roomID })
    }

    private mutating func insert(_ room: Room) {
        let key = order.key(of: room)
        all.insert(room, at: index(for: key))
        dates[room.id] = key.date
    }

    private func index(of id: String) -> Int? { dates[id].map { index(for: (date: $0, id: id)) } }

    /// Returns the index at which a room with this key is, or would be inserted.
    private func index(for key: (date: Date, id: String)) -> Int {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if order.key(of: all[middle]) > key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

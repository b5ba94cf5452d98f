import ParlorContracts

/// Counts the events of rooms that clients are joining, as they are sent. A client that got one of them must not get an
/// older state of the room in the ack of its join.
package struct JoinWatch {
    private struct Watched {
        var joins = 0
        var events = 0
    }

    private var rooms: [String: Watched] = [:]

    /// Begins to count a room's events for a join; `end` follows.
    ///
    /// - Returns: the events that were counted for other joins.
    package mutating func begin(_ roomID: String) -> Int {
        rooms[roomID, default: Watched()].joins += 1
        return events(of: roomID)
    }

    package mutating func end(_ roomID: String) {
        guard var room = rooms[roomID] else { return }
        room.joins -= 1
        rooms[roomID] = room.joins == 0 ? nil : room
    }

    mutating func note(_ broadcast: Broadcast) {
        guard !rooms.isEmpty, rooms[broadcast.roomID] != nil else { return }
        // Other events, such as badges, reach people whether or not they are in the room.
        let isForRoom = broadcast.items.contains { item in
            if case .room = item.emission.audience { true } else { false }
        }
        if isForRoom { rooms[broadcast.roomID]?.events += 1 }
    }

    /// Returns the number of events since the first of the joins that are in progress began.
    package func events(of roomID: String) -> Int { rooms[roomID]?.events ?? 0 }
}

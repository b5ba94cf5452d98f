import ParlorClient

/// The events that are kept, and replayed to clients that were offline. A cursor is a position in the log.
struct EventLog: Sendable {
    struct Entry: Sendable {
        var audience: Audience
        var roomID: String
        var event: String
        var data: JSON
        var participants: [String]
        /// The only people of the room who get it; nil for all.
        var concerned: [String]?

        func concerns(_ userID: String) -> Bool { concerned?.contains(userID) ?? true }
    }

    private var entries: [Entry] = []
    private var generation = 1

    /// The position of the next event.
    var head: Int { entries.count }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    /// Makes all cursors too old.
    mutating func forgetAll() { generation += 1 }

    /// Leaves a message's event out of later replays. Its entry stays, as cursors count entries.
    mutating func forget(messageID: String, in roomID: String) {
        let index = entries.lastIndex {
            $0.roomID == roomID && $0.event == "message:new" && $0.data["message"]?["id"]?.string == messageID
        }
        if let index { entries[index].audience = .everyone }
    }

    /// Returns a cursor for a person. Other people cannot use it.
    func cursor(for userID: String, at position: Int? = nil) -> String { "\(generation)/\(position ?? head)/\(userID)" }

    /// Parses a cursor; nil if it is invalid or another person's.
    func cursor(_ text: String?, of userID: String) -> (position: Int, isCurrent: Bool)? {
        let parts = text?.split(separator: "/") ?? []
        guard parts.count == 3, parts[2] == userID, let generation = Int(parts[0]), let position = Int(parts[1]),
            (0...head).contains(position)
        else { return nil }
        return (position, generation == self.generation)
    }

    /// Answers a request for the events since a cursor.
    ///
    /// - Parameter rooms: the ids of the person's rooms.
    func sync(since: String, _ query: Query, by userID: String, in rooms: Set<String>) throws(Refused) -> Answer {
        guard let cursor = cursor(since, of: userID) else { throw .invalid("since", "is not a cursor of yours") }
        guard cursor.isCurrent else { return Answer(200, ["recovered": .bool(false)]) }
        let limit = try query.limit(standard: 500, max: 1000)
        let missed = missed(by: userID, in: rooms, since: cursor.position)
        let shown = missed.prefix(limit)
        let isMore = missed.count > limit
        let end = isMore ? shown.last.map { $0.position + 1 } : nil
        let events = shown.map { _, entry -> JSON in ["event": .string(entry.event), "data": entry.data] }
        let data: JSON = [
            "recovered": .bool(true), "events": .array(events), "more": .bool(isMore),
            "cursor": .string(self.cursor(for: userID, at: end)),
        ]
        return Answer(200, data)
    }

    /// Returns the events for a person and for their rooms since a position. Of a room that is no longer theirs there is
    /// none; of one that became theirs, also those from before.
    func missed(by userID: String, in rooms: Set<String>, since position: Int) -> [(position: Int, entry: Entry)] {
        entries.indices.dropFirst(position).map { (position: $0, entry: entries[$0]) }.filter { _, entry in
            switch entry.audience {
            case .room: rooms.contains(entry.roomID) && entry.concerns(userID)
            case .person(let id): id == userID && (entry.roomID.isEmpty || rooms.contains(entry.roomID))
            case .everyone: false
            }
        }
    }

    /// Returns the events for a person in a room since a position.
    func missed(by userID: String, in roomID: String, since position: Int) -> [Entry] {
        entries.dropFirst(position).filter { $0.audience == .room && $0.roomID == roomID && $0.concerns(userID) }
    }
}

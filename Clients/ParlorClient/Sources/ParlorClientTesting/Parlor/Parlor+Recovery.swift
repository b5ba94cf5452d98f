import ParlorClient

extension Parlor {
    struct Cursor {
        var position: Int
        /// The log's generation. `forgetHistory` begins a new one.
        var generation: Int
    }

    /// Returns a cursor for a person. Other people cannot use it.
    func cursor(for userID: String, at position: Int? = nil) -> String {
        "\(generation)/\(position ?? log.count)/\(userID)"
    }

    /// Parses a cursor; nil if it is invalid or another person's.
    func cursor(_ text: String?, of userID: String) -> Cursor? {
        let parts = text?.split(separator: "/") ?? []
        guard parts.count == 3, parts[2] == userID, let generation = Int(parts[0]), let position = Int(parts[1]),
            (0...log.count).contains(position)
        else { return nil }
        return Cursor(position: position, generation: generation)
    }

    func sync(_ query: [String: String], by userID: String) throws(Refused) -> Answer {
        guard let since = query["since"] else {
            let rooms = list(of: userID) { $0.lastActivityAt }.map { json($0, for: userID, isListed: true) }
            return Answer(200, .object(["cursor": .string(cursor(for: userID)), "rooms": .array(rooms)]))
        }
        guard let cursor = cursor(since, of: userID) else { throw .invalid("since", "is not a cursor of yours") }
        guard cursor.generation == generation else { return Answer(200, .object(["recovered": .bool(false)])) }
        let limit = try Self.limit(query, standard: 500, max: 1000)
        let missed = missed(by: userID, since: cursor.position)
        let shown = missed.prefix(limit)
        let isMore = missed.count > limit
        let end = isMore ? shown.last.map { $0.position + 1 } : nil
        let events = shown.map { JSON.object(["event": .string($0.entry.event), "data": $0.entry.data]) }
        return Answer(
            200,
            .object([
                "recovered": .bool(true), "events": .array(events), "more": .bool(isMore),
                "cursor": .string(self.cursor(for: userID, at: end)),
            ]))
    }

    /// Returns the events for a person and for their rooms since a position.
    func missed(by userID: String, since position: Int) -> [(position: Int, entry: LogEntry)] {
        entries(since: position).filter { _, entry in
            switch entry.audience {
            case .room: entry.participants.contains(userID)
            case .person(let id): id == userID
            case .everyone: false
            }
        }
    }

    /// Returns the events for a room since a position.
    func missed(in roomID: String, since position: Int) -> [LogEntry] {
        entries(since: position).map(\.entry).filter { $0.audience == .room && $0.roomID == roomID }
    }

    private func entries(since position: Int) -> [(position: Int, entry: LogEntry)] {
        log.indices.dropFirst(position).map { (position: $0, entry: log[$0]) }
    }
}

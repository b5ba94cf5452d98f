import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorSocketIO

/// The events that one person missed between two positions in several logs: each log in order, and all of them
/// merged by time.
///
/// It does no I/O: it names the entries that it needs, receives them, and returns pages. `cursor` is always
/// the position after the returned events.
package struct Replay {
    package enum Scope {
        /// The room events of the person's rooms, and the person's own events.
        case person
        /// The room events of one room.
        case room(String)
    }

    package struct Event: Sendable {
        package let item: Broadcast.Item
        package let roomID: String
    }

    package struct Page: Sendable {
        package let events: [Event]
        /// True if there is at least one later event.
        package let isMore: Bool
    }

    package enum Step {
        /// Requests entries of a log, after a position and up to another. Pass them to `supply`.
        case fetch(log: LogID, since: LogPosition, through: Int)
        case page(Page)
    }

    private struct Source {
        let logID: LogID
        var state: SyncCursor.LogState
        var end: LogPosition
        var waiting: ArraySlice<Broadcast> = []
        /// The rooms of which the person gets all entries, also those from before they came; nil for all rooms.
        var ownRooms: Set<String>? = []
        /// The position up to which entries were supplied.
        var supplied: LogPosition

        var needsEntries: Bool { waiting.isEmpty && supplied.seq < end.seq }

        mutating func consume() {
            guard let entry = waiting.popFirst() else { return }
            state = .init(position: entry.logPosition(in: end.databaseID))
        }
    }

    private let userID: String
    private let scope: Scope
    private let limit: Int
    private let maxBytes: Int
    private var sources: [Source]
    private var events: [Event] = []
    private var bytes = 0

    /// Begins to replay the events after a cursor. A log that the cursor lacks is of a service that was added since: its
    /// events are replayed from its beginning.
    ///
    /// - Parameters:
    ///   - ends: the positions at which to stop.
    ///   - limit: the maximum number of events in a page.
    ///   - maxBytes: the size at which a page ends, after the entry that reaches it.
    /// - Returns: nil if a log was removed or replaced since the cursor was made, or was unknown then.
    package init?(
        from cursor: SyncCursor, to ends: [LogID: LogPosition], for userID: String, _ scope: Scope = .person,
        limit: Int,
        maxBytes: Int
    ) {
        let services = Set(ends.keys.map(\.service))
        guard
            cursor.logs.allSatisfy({ logID, state in
                ends[logID] != nil || state.position == .unknown && !services.contains(logID.service)
            })
        else { return nil }
        sources = []
        for (logID, end) in ends.sorted(by: { $0.key < $1.key }) {
            let beginning = LogPosition(databaseID: end.databaseID, seq: 0, digest: 0)
            let state = cursor.logs[logID] ?? .init(position: beginning)
            guard state.position.databaseID == end.databaseID,
                state.position.seq < end.seq || state.position == end
            else { return nil }
            sources.append(Source(logID: logID, state: state, end: end, supplied: state.position))
        }
        self.userID = userID
        self.scope = scope
        self.limit = limit
        self.maxBytes = maxBytes
    }

    package var cursor: SyncCursor {
        SyncCursor(logs: Dictionary(uniqueKeysWithValues: sources.map { ($0.logID, $0.state) }))
    }

    /// Supplies requested entries.
    ///
    /// - Parameters:
    ///   - entries: the person's entries, in order, after the requested position; entries after the end are ignored.
    ///   - rooms: those of which the person gets all entries, also those that do not name them; nil for all rooms.
    ///   - through: the position up to which they are complete.
    mutating func supply(_ logID: LogID, _ entries: [Broadcast], ofRooms rooms: Set<String>? = [], through: Int) {
        guard let index = sources.firstIndex(where: { $0.logID == logID }) else { return }
        sources[index].ownRooms = rooms
        let end = sources[index].end
        sources[index].waiting = entries[...].prefix { $0.position.seq <= end.seq }
        if through < end.seq, let last = sources[index].waiting.last {
            sources[index].supplied = last.logPosition(in: end.databaseID)
        } else {
            sources[index].supplied = end
        }
    }

    /// Supplies requested entries in the form of an owner's reply.
    ///
    /// - Parameter sending: returns the events of an entry that are sent.
    package mutating func supply(
        _ logID: LogID, _ entries: [LogEntry], through: Int, sending: @escaping Emitters.Filter = { $0.emissions }
    ) {
        supply(
            logID, entries.map { Broadcast($0, of: logID, sending: sending) }, ofRooms: nil, through: through)
    }

    /// Leaves out the rest of a log that cannot be fetched. The cursor keeps its position there.
    package mutating func leaveOut(_ logID: LogID) {
        guard let index = sources.firstIndex(where: { $0.logID == logID }) else { return }
        sources[index].waiting = []
        sources[index].end = sources[index].state.position
        sources[index].supplied = sources[index].end
    }

    package mutating func next() -> Step {
        while true {
            if let source = sources.first(where: \.needsEntries) {
                return .fetch(log: source.logID, since: source.supplied, through: source.end.seq)
            }
            guard let index = earliest() else {
                for index in sources.indices where sources[index].state.position != sources[index].end {
                    sources[index].state = .init(position: sources[index].end)
                }
                return .page(takePage(isMore: false))
            }
            let own = ownEvents(in: sources[index]).dropFirst(sources[index].state.taken)
            guard !own.isEmpty else {
                sources[index].consume()
                continue
            }
            guard events.count < limit, bytes < maxBytes else { return .page(takePage(isMore: true)) }
            let taken = own.prefix(limit - events.count)
            for event in taken { bytes += event.item.emission.data.bytes.count }
            events += taken
            if taken.count == own.count {
                sources[index].consume()
            } else {
                sources[index].state.taken += taken.count
            }
        }
    }

    private func earliest() -> Int? {
        sources.indices.filter { !sources[$0].waiting.isEmpty }.min {
            let (left, right) = (sources[$0].waiting.first, sources[$1].waiting.first)
            return (left?.entry.at.milliseconds ?? .min) < (right?.entry.at.milliseconds ?? .min)
        }
    }

    private func ownEvents(in source: Source) -> [Event] {
        guard let broadcast = source.waiting.first else { return [] }
        let isNamed = broadcast.participants.contains(userID)
        let isOfOwnRoom = source.ownRooms?.contains(broadcast.roomID) ?? true
        return broadcast.items.filter { item in
            let isOwn = isNamed || isOfOwnRoom && !item.emission.isNarrow
            return switch (item.emission.audience, scope) {
            // Nobody can join "no room", so nobody was sent such an event.
            case (.room, .person): !broadcast.roomID.isEmpty && isOwn
            case (.room, .room(let id)): broadcast.roomID == id && isOwn
            case (.person(let id), .person): id == userID
            case (.person, .room), (.everyone, _): false
            }
        }.map { Event(item: $0, roomID: broadcast.roomID) }
    }

    private mutating func takePage(isMore: Bool) -> Page {
        defer {
            events = []
            bytes = 0
        }
        return Page(events: events, isMore: isMore)
    }
}

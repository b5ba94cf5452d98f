import Foundation

/// The sorted rooms, as events and answers change them, and the data that events lacked. It has no side effects: the
/// `RoomList` makes the requests.
struct RoomStore: Sendable {
    /// The time in seconds for which related data may arrive out of step. An event that follows an answer within this
    /// time may already be included in it. Badges that follow a new message or element within this time may lack it.
    static let doubtful: TimeInterval = 2

    let userID: String
    private(set) var sorted: SortedRooms
    private(set) var needs: [String: Set<RoomNeed>] = [:]
    /// The rooms that an answer with all rooms lacked. They are hidden, and fetched one by one, because the answer may
    /// be older than they are. They include rooms that `check(_:now:)` was called for and that the store lacks.
    private(set) var missing: Set<String> = []
    private(set) var loads = RoomLoads()
    /// The time of the last answer with each room.
    private var answeredAt: [String: Date] = [:]
    /// Whether others are in the open rooms, as far as that is known: by room and person.
    var presence: [String: [String: Bool]] = [:]
    /// The time of each change of the name or the people from the room's own event, until the global event arrives.
    var describedAt: [String: Date] = [:]
    /// The rooms with an event about their people since the connection began, or since they were left.
    var peopleChanged: Set<String> = []
    /// The last 64 deleted messages. They must not come back with an earlier event or answer.
    var deletedMessages = RecentValues<Bool>(limit: 64)

    init(for userID: String, order: RoomOrder) {
        self.userID = userID
        sorted = SortedRooms(order: order)
    }

    var order: RoomOrder {
        get { sorted.order }
        set { sorted.order = newValue }
    }

    var rooms: [Room] { sorted.all }

    subscript(id: String) -> Room? { sorted[id] }

    // MARK: Answers

    /// Notes that a request starts. Each load has to be finished or abandoned.
    mutating func beginLoad() -> RoomLoads.Load { loads.begin() }

    /// Notes that a request has failed, or that its answer is not used.
    mutating func abandon(_ load: RoomLoads.Load) { loads.end() }

    /// Applies an answer with all rooms. Rooms that are not in it, or were removed since the request, become missing.
    ///
    /// - Parameter missingFields: the fields for which the answer has only last known values. The store's values stay
    ///   if they are later.
    /// - Returns: the rooms that had events since the request. For each value, the later one stays: that of the event
    ///   or that of the answer. These rooms are fetched again.
    mutating func finish(
        _ load: RoomLoads.Load, with answer: [Room], missingFields: Set<RoomFieldSource> = [], now: Date
    ) -> Set<String> {
        let overtaken = loads.rooms(with: .any, since: load)
        let removed = loads.rooms(with: .removal, since: load).intersection(answer.map(\.id))
        let answer = answer.filter { !removed.contains($0.id) }
        let ids = Set(answer.map(\.id))
        for room in rooms where !ids.contains(room.id) && !overtaken.contains(room.id) {
            drop(room.id)
            missing.insert(room.id)
        }
        missing.subtract(ids)
        missing.formUnion(removed)
        var kept = rooms.filter { !ids.contains($0.id) }
        for room in answer {
            kept.append(
                take(room, load, isOvertaken: overtaken.contains(room.id), missingFields: missingFields, now: now))
        }
        sorted.replaceAll(with: kept)
        for room in rooms where overtaken.contains(room.id) { needs[room.id, default: []].insert(.answer) }
        loads.end()
        return overtaken
    }

    /// Applies an answer with one room.
    ///
    /// - Parameters:
    ///   - missingFields: the fields for which the answer has only last known values. The store's values stay if they
    ///     are later.
    ///   - isChange: true if the request created or changed the room. The answers to other requests in progress may
    ///     then be older.
    /// - Returns: false if the room had events since the request. If one removed it, it becomes missing.
    mutating func finish(
        _ load: RoomLoads.Load, with answer: Room, missingFields: Set<RoomFieldSource> = [], isChange: Bool = false,
        now: Date
    ) -> Bool {
        defer { loads.end() }
        guard !loads.has(.removal, of: answer.id, since: load) else {
            missing.insert(answer.id)
            return false
        }
        let isOvertaken = loads.has(.any, of: answer.id, since: load)
        put(take(answer, load, isOvertaken: isOvertaken, missingFields: missingFields, now: now))
        missing.remove(answer.id)
        if isOvertaken { needs[answer.id, default: []].insert(.answer) }
        if isChange { loads.note(.description, of: answer.id) }
        return !isOvertaken
    }

    /// Removes a room that is no longer the person's.
    mutating func forget(_ id: String) {
        drop(id)
        loads.note(.removal, of: id)
    }

    private mutating func drop(_ id: String) {
        sorted.remove(id)
        forgetNeeds(of: id)
        answeredAt[id] = nil
        describedAt[id] = nil
        presence[id] = nil
        peopleChanged.remove(id)
    }

    /// Drops the needs of a room, because its requests will never succeed.
    mutating func forgetNeeds(of id: String) {
        needs[id] = nil
        missing.remove(id)
    }

    /// Returns the room of an answer. Values that may be newer in the known room are taken from there.
    private mutating func take(
        _ answer: Room, _ load: RoomLoads.Load, isOvertaken: Bool, missingFields: Set<RoomFieldSource>, now: Date
    ) -> Room {
        (answeredAt[answer.id], needs[answer.id]) = (now, nil)
        var answer = answer.withFullTimes
        if let known = self[answer.id] {
            let merge = RoomMerge(
                known: known, isOvertaken: isOvertaken,
                hasNewDescription: loads.has(.description, of: answer.id, since: load), missingFields: missingFields,
                deletedMessages: deletedMessages)
            answer = merge.merge(answer)
        }
        // The answer's presence is true only at its time.
        answer.setPresent(present(in: answer.id))
        return answer
    }

    // MARK: Changes

    mutating func put(_ room: Room) { sorted.put(room) }

    mutating func change(_ id: String, _ body: (inout Room) -> Void) { sorted.change(id, body) }

    /// Notes an event of a room.
    ///
    /// - Parameter isDoubtful: true if the last answer may already include the event.
    /// - Returns: true if the store has the room.
    mutating func touch(_ id: String, isDoubtful: Bool = false, now: Date) -> Bool {
        loads.note(.any, of: id)
        guard sorted.contains(id) else { return false }
        if isDoubtful, let answered = answeredAt[id], now.timeIntervalSince(answered) < Self.doubtful {
            needs[id, default: []].insert(.answer)
        }
        return true
    }

    /// Notes that an event has changed a room's name or people.
    mutating func noteDescription(of id: String, at time: Date?) {
        if let time { describedAt[id] = time }
        loads.note(.description, of: id)
    }

    /// Notes that a room is the person's, although it may have been removed before.
    mutating func noteReturn(of id: String) {
        loads.noteReturn(of: id)
        missing.remove(id)
    }

    /// Notes that a room lacks data.
    mutating func need(_ need: RoomNeed, of id: String) { needs[id, default: []].insert(need) }

    /// Notes that the server may not know a room any more, so that the room is fetched.
    mutating func check(_ id: String, now: Date) {
        // The room counts as changed, because the answer to a request in progress may be older. A room that the store
        // lacks is fetched with a request of its own. An answer with all rooms could lack it too, and would then never
        // meet its need.
        if touch(id, now: now) { need(.answer, of: id) } else { missing.insert(id) }
    }

    /// Notes that an event has brought the data.
    mutating func meet(_ need: RoomNeed, of id: String) {
        needs[id]?.remove(need)
        if needs[id]?.isEmpty == true { needs[id] = nil }
    }
}

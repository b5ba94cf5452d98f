import Foundation

/// The sorted rooms, as events and answers change them, and the data that events lacked. It has no side effects: the
/// `RoomList` makes the requests.
struct RoomStore: Sendable {
    /// Data that an event lacked. A second event may bring it, and an answer always does.
    enum Need: Hashable, Sendable {
        /// The text of this message.
        case message(String)
        /// The time of this deletion.
        case deletion(String)
        /// The number of elements, after a change of this one.
        case element(String)
        /// The number of elements, after the room was cleared.
        case clearing
        /// Data that only an answer can bring.
        case answer
    }

    /// A request that is in progress.
    struct Load: Sendable {
        /// The number of events at its start.
        fileprivate let begun: Int
    }

    /// The time in seconds for which related data may arrive out of step. An event that follows an answer within this
    /// time may already be included in it. Badges that follow a new message or element within this time may lack it.
    static let doubtful: TimeInterval = 2

    let userID: String
    private(set) var sorted: SortedRooms
    private(set) var needs: [String: Set<Need>] = [:]
    /// The rooms that an answer with all rooms lacked. They are hidden, and fetched one by one, because the answer may
    /// be older than they are. They include rooms that `check(_:now:)` was called for and that the store lacks.
    private(set) var missing: Set<String> = []
    /// Counts events, so that an answer can be compared with those since its request.
    private var events = 0
    /// The number of each room's last event, while requests are in progress. Their answers may be older. It includes
    /// rooms that the store lacks, because an answer may show that they are the person's.
    private(set) var touched: [String: Int] = [:]
    /// The number of each room's last event with a name, while requests are in progress.
    private var named: [String: Int] = [:]
    private var loadsInFlight = 0
    /// The time of the last answer with each room.
    private var answeredAt: [String: Date] = [:]
    /// The time of each room's last message or element by another person.
    private var arrivedAt: [String: Date] = [:]
    /// Whether others are in the open rooms, as far as that is known: by room and person.
    var presence: [String: [String: Bool]] = [:]
    /// The time of each name from the room's own event, until the global event arrives.
    var namedAt: [String: Date] = [:]
    /// The last 64 deleted messages. They must not come back with an earlier event or answer.
    private(set) var deletedMessages: [String] = []

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
    mutating func beginLoad() -> Load {
        loadsInFlight += 1
        return Load(begun: events)
    }

    /// Notes that a request has failed, or that its answer is not used.
    mutating func abandon(_ load: Load) { end() }

    /// Applies an answer with all rooms. Rooms that are not in it become missing.
    ///
    /// - Parameter missingFields: the fields for which the answer has only last known values. The store's values stay
    ///   if they are later.
    /// - Returns: the rooms that had events since the request. For each value, the later one stays: that of the event
    ///   or that of the answer. These rooms are fetched again.
    mutating func finish(
        _ load: Load, with answer: [Room], missingFields: Set<RoomFieldSource> = [], now: Date
    ) -> Set<String> {
        let overtaken = Set(touched.filter { $0.value > load.begun }.keys)
        let ids = Set(answer.map(\.id))
        for room in rooms where !ids.contains(room.id) && !overtaken.contains(room.id) {
            forget(room.id)
            missing.insert(room.id)
        }
        missing.subtract(ids)
        var kept = rooms.filter { !ids.contains($0.id) }
        for room in answer {
            kept.append(
                take(room, load, isOvertaken: overtaken.contains(room.id), missingFields: missingFields, now: now))
        }
        sorted.replaceAll(with: kept)
        for room in rooms where overtaken.contains(room.id) { needs[room.id, default: []].insert(.answer) }
        end()
        return overtaken
    }

    /// Applies an answer with one room.
    ///
    /// - Parameters:
    ///   - missingFields: the fields for which the answer has only last known values. The store's values stay if they
    ///     are later.
    ///   - isChange: true if the request created or changed the room. The answers to other requests in progress may
    ///     then be older.
    /// - Returns: false if the room had events since the request.
    mutating func finish(
        _ load: Load, with answer: Room, missingFields: Set<RoomFieldSource> = [], isChange: Bool = false, now: Date
    ) -> Bool {
        let isOvertaken = touched[answer.id].map { $0 > load.begun } ?? false
        put(take(answer, load, isOvertaken: isOvertaken, missingFields: missingFields, now: now))
        missing.remove(answer.id)
        if isOvertaken { needs[answer.id, default: []].insert(.answer) }
        end()
        if isChange, loadsInFlight > 0 {
            events += 1
            (touched[answer.id], named[answer.id]) = (events, events)
        }
        return !isOvertaken
    }

    /// Removes a room that is no longer the person's.
    mutating func forget(_ id: String) {
        sorted.remove(id)
        missing.remove(id)
        needs[id] = nil
        answeredAt[id] = nil
        arrivedAt[id] = nil
        namedAt[id] = nil
        presence[id] = nil
    }

    /// Drops the needs of a room, because its requests will never succeed.
    mutating func forgetNeeds(of id: String) {
        needs[id] = nil
        missing.remove(id)
    }

    /// Returns the room of an answer. Values that may be newer in the known room are taken from there.
    private mutating func take(
        _ answer: Room, _ load: Load, isOvertaken: Bool, missingFields: Set<RoomFieldSource>, now: Date
    ) -> Room {
        answeredAt[answer.id] = now
        var answer = answer.withFullTimes
        // The answer's presence is true only at its time.
        answer.setPresent(present(in: answer.id))
        needs[answer.id] = nil
        guard isOvertaken || !missingFields.isEmpty, let known = self[answer.id] else { return answer }
        var merged = answer
        if missingFields.contains(.others) { merged.extras.keepKnown(known.extras) }
        if named[answer.id] ?? 0 > load.begun { (merged.name, merged.displayName) = (known.name, known.displayName) }
        for room in [answer, known] {
            room.messagesUpdatedAt.map { merged.noteMessages(at: $0) }
            merged.noteContent(at: room.updatedAt)
        }
        guard isOvertaken || missingFields.contains(.messages) else { return merged }
        let last = [known.lastMessage, answer.lastMessage].compactMap(\.self).max { $0.createdAt < $1.createdAt }
        merged.lastMessage = last.flatMap { deletedMessages.contains($0.id) ? nil : $0 }
        return merged
    }

    private mutating func end() {
        loadsInFlight -= 1
        // No answer is left that could be older. A room that the store still lacks is not the person's.
        if loadsInFlight == 0 { (touched, named) = ([:], [:]) }
    }

    // MARK: Changes

    mutating func put(_ room: Room) { sorted.put(room) }

    mutating func change(_ id: String, _ body: (inout Room) -> Void) { sorted.change(id, body) }

    /// Notes an event of a room.
    ///
    /// - Parameter isDoubtful: true if the last answer may already include the event.
    /// - Returns: true if the store has the room.
    mutating func touch(_ id: String, isDoubtful: Bool = false, now: Date) -> Bool {
        events += 1
        if loadsInFlight > 0 { touched[id] = events }
        guard sorted.contains(id) else { return false }
        if isDoubtful, let answered = answeredAt[id], now.timeIntervalSince(answered) < Self.doubtful {
            needs[id, default: []].insert(.answer)
        }
        return true
    }

    /// Notes a message or an element by another person.
    mutating func noteArrival(in id: String, at now: Date) {
        if sorted.contains(id) { arrivedAt[id] = now }
    }

    /// Returns true if badges that come now may lack the room's last message or element.
    func hasLateArrival(in id: String, now: Date) -> Bool {
        arrivedAt[id].map { now.timeIntervalSince($0) < Self.doubtful } ?? false
    }

    mutating func noteDeletion(of messageID: String) {
        if deletedMessages.count == 64 { deletedMessages.removeFirst() }
        deletedMessages.append(messageID)
    }

    mutating func noteName(of id: String, at time: Date) {
        namedAt[id] = time
        if loadsInFlight > 0 { named[id] = events }
    }

    /// Notes that a room lacks data.
    mutating func need(_ need: Need, of id: String) { needs[id, default: []].insert(need) }

    /// Notes that the server may not know a room any more, so that the room is fetched.
    mutating func check(_ id: String, now: Date) {
        // The room counts as changed, because the answer to a request in progress may be older. A room that the store
        // lacks is fetched with a request of its own. An answer with all rooms could lack it too, and would then never
        // meet its need.
        if touch(id, now: now) { need(.answer, of: id) } else { missing.insert(id) }
    }

    /// Notes that an event has brought the data.
    mutating func meet(_ need: Need, of id: String) {
        needs[id]?.remove(need)
        if needs[id]?.isEmpty == true { needs[id] = nil }
    }
}

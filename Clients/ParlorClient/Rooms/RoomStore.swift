import Foundation

/// The rooms in order, the changes by events, and the data to fetch because events lack it. Pure.
struct RoomStore: Sendable {
    /// Data that an event lacked. A second event may bring it; an answer always does.
    enum Need: Hashable, Sendable {
        /// The text of this message.
        case message(String)
        /// The time of this deletion.
        case deletion(String)
        /// The number of elements, after a change of this one.
        case element(String)
        case clearing
        /// Data that only an answer can bring.
        case answer
    }

    /// A request that is under way.
    struct Load: Sendable {
        fileprivate let begun: Int
    }

    /// The time for which an event may follow an answer that already includes it, and badges an arrival that
    /// they do not include. A later event is new.
    static let doubtful: TimeInterval = 2

    let userID: String
    private(set) var sorted: SortedRooms
    private(set) var needs: [String: Set<Need>] = [:]
    /// Rooms missing from an answer with all rooms. They are hidden, and fetched one by one, because the
    /// answer may be older than they are.
    private(set) var missing: Set<String> = []
    private var events = 0
    /// The number of each room's last event while requests are under way, because an answer may be older. It
    /// includes rooms that the store lacks: an answer may show that they are the person's.
    private(set) var touched: [String: Int] = [:]
    /// The number of each room's last event with a name.
    private var named: [String: Int] = [:]
    private var loadsInFlight = 0
    private var answeredAt: [String: Date] = [:]
    /// The time of each room's last message or element by another person.
    private var arrivedAt: [String: Date] = [:]
    /// The time of each name from the room's own event, until the global event arrives.
    var namedAt: [String: Date] = [:]
    /// The last deleted messages: none may return with an earlier event or answer.
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

    mutating func beginLoad() -> Load {
        loadsInFlight += 1
        return Load(begun: events)
    }

    mutating func abandon(_ load: Load) { end() }

    /// Applies an answer with all rooms; rooms that are not among them become missing.
    ///
    /// - Parameter missingFields: fields for which the answer has only last known values; the later of those
    ///   and the store's is kept.
    /// - Returns: rooms with events since the request. They keep the later of event and answer, and are
    ///   fetched again.
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
    ///   - missingFields: as for all rooms.
    ///   - isChange: true if the request created or changed the room. Other answers under way may then be
    ///     older.
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
    }

    /// Drops the needs of a room whose requests will never succeed.
    mutating func forgetNeeds(of id: String) {
        needs[id] = nil
        missing.remove(id)
    }

    private mutating func take(
        _ answer: Room, _ load: Load, isOvertaken: Bool, missingFields: Set<RoomFieldSource>, now: Date
    ) -> Room {
        answeredAt[answer.id] = now
        let answer = answer.withFullTimes
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
        // Events of rooms that the store lacks now belong to other people.
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

    /// - Returns: true if badges that come now may lack the room's last message or element.
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

    mutating func need(_ need: Need, of id: String) { needs[id, default: []].insert(need) }

    mutating func meet(_ need: Need, of id: String) {
        needs[id]?.remove(need)
        if needs[id]?.isEmpty == true { needs[id] = nil }
    }
}

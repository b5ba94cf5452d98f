import Foundation

/// The rooms in their order, what events change about them, and what has to be asked because events don't say it. Pure.
struct RoomStore: Sendable {
    /// What was told without all that is shown of it. A second event may add the rest; an answer always does.
    enum Need: Hashable, Sendable {
        /// A message whose text is not known.
        case message(String)
        /// Deleted, at a time that is not known.
        case deletion(String)
        /// The number of elements, after a change of this one.
        case element(String)
        case clearing
        /// Nothing but an answer will do.
        case answer
    }

    /// An answer that is on its way.
    struct Load: Sendable {
        fileprivate let begun: Int
    }

    /// How long an event may be on its way after an answer that has it already: after that it is a new one.
    static let doubtful: TimeInterval = 2

    let userID: String
    private(set) var sorted: SortedRooms
    private(set) var needs: [String: Set<Need>] = [:]
    /// Rooms that an answer with all did not have. They are not shown, and whether they are gone has to be asked: it may be older
    /// than they are.
    private(set) var missing: Set<String> = []
    private var events = 0
    /// When, counted in events, each room was last told of: while answers are on their way, since any of these may be older.
    /// Also of rooms that are not on the shelf: whose they are is not known until then.
    private(set) var touched: [String: Int] = [:]
    /// Likewise, when each was told its name.
    private var named: [String: Int] = [:]
    private var loadsInFlight = 0
    private var answeredAt: [String: Date] = [:]
    /// By room, the time of a name that was told to the room, until everyone is told.
    var namedAt: [String: Date] = [:]
    /// The last ones, so that none comes back with an event or an answer from before.
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

    /// Takes an answer with all rooms: what is not among them is missing.
    ///
    /// - Parameter missingFields: what the answer has only as far as the server knew it: the later of that and what is known is kept.
    /// - Returns: those that were told of since it was asked for. Of what was told and what was answered they keep the later, and
    ///   are asked for again.
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

    /// Takes an answer with one room.
    ///
    /// - Parameters:
    ///   - missingFields: as of all rooms.
    ///   - isChange: it was asked for to make or change the room: other answers that are under way may be from before.
    /// - Returns: false if the room was told of since it was asked for.
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

    /// It is no longer one of the person's.
    mutating func forget(_ id: String) {
        sorted.remove(id)
        missing.remove(id)
        needs[id] = nil
        answeredAt[id] = nil
        namedAt[id] = nil
    }

    /// Gives up asking, for what would never be answered.
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
        // From here on an id that is not on the shelf is of somebody else's room, and leaves no trace.
        if loadsInFlight == 0 { (touched, named) = ([:], [:]) }
    }

    // MARK: Changes

    mutating func put(_ room: Room) { sorted.put(room) }

    mutating func change(_ id: String, _ body: (inout Room) -> Void) { sorted.change(id, body) }

    /// Notes that a room was told of.
    ///
    /// - Parameter isDoubtful: what was told may be in the last answer already, and nothing shows whether it is.
    /// - Returns: whether it is on the shelf.
    mutating func touch(_ id: String, isDoubtful: Bool = false, now: Date) -> Bool {
        events += 1
        if loadsInFlight > 0 { touched[id] = events }
        guard sorted.contains(id) else { return false }
        if isDoubtful, let answered = answeredAt[id], now.timeIntervalSince(answered) < Self.doubtful {
            needs[id, default: []].insert(.answer)
        }
        return true
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

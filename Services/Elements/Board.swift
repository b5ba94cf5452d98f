import ParlorContracts
import ParlorEventLog
import ParlorServiceKit
import ParlorStorage

/// A room's board inside the transaction that changes it, and its limits. It is valid only in the closure
/// that receives it.
///
/// It belongs to one room, so callers do not pass a room's id. Apart from this room's data, it changes only the
/// totals of people.
struct Board {
    let request: RoomRequest
    private let store: BoardStore
    private let limits: BoardLimits
    /// The time of the request. If the clock was set back, the room keeps the later time of its previous change.
    private let now: Timestamp

    init(for request: RoomRequest, at now: Timestamp, _ limits: BoardLimits, on connection: any Connection) {
        self.request = request
        self.now = now
        self.limits = limits
        store = BoardStore(connection)
    }

    var room: Membership { request.room }

    /// Counts a change, and returns the state that its events carry. Each change calls it once.
    ///
    /// - Parameter charges: the amounts that it adds and removes, for each person's account.
    /// - Throws: `payload_too_large` if the room or a person would exceed a limit. A reduction is always
    ///   allowed.
    func advance(by charges: [Charge]) throws -> BoardState {
        let state = try store.advance(room.roomID, by: charges.elements, charges.bytes, upTo: limits.room, at: now)
        guard let state else { throw limits.roomIsFull }
        for charge in charges.byPerson {
            guard try store.apply(charge, upTo: limits.person) else { throw limits.personIsFull }
        }
        return state
    }

    /// - Returns: the entry's position, for the reply.
    func emit(_ emissions: [Emission], fact: Fact) throws -> EntryPosition {
        try request.emit(emissions, fact: fact, at: now, on: store.connection)
    }

    func lastEntry() throws -> EntryPosition { ElementsService.position(try EventLog.head(on: store.connection)) }

    // MARK: Elements

    func element(_ id: String) throws -> Element? { try store.element(id, in: room.roomID) }

    /// Returns the id of the element that a sender created with a key, even if it has been deleted since.
    func elementID(sentBy senderID: String, as tempID: String) throws -> String? {
        try store.elementID(sentBy: senderID, as: tempID, in: room.roomID)
    }

    /// Adds an element of this room, and counts it as unseen by the other participants who do not have the room open.
    func insert(_ element: Element, at state: BoardState) throws {
        precondition(element.roomID == room.roomID, "an element of another room")
        try store.insert(element, at: state)
        let others = room.userIDs.filter { $0 != element.createdBy }
        try store.countUnseen(state.rev, in: room.roomID, by: others)
    }

    /// Writes the columns that an update may change.
    func replace(_ element: Element) throws { try store.replace(element) }

    /// - Returns: the charge of the deleted element; nil if there was none.
    func delete(_ id: String) throws -> Charge? { try store.delete(id, in: room.roomID) }

    /// - Returns: the charge of each deleted element.
    func deleteAll() throws -> [Charge] { try store.deleteAll(in: room.roomID) }
}

/// A board's state after a change.
struct BoardState: Sendable, Equatable {
    let elementCount: Int
    /// The revision, which rises by one with each change.
    let rev: Int
    /// The time of the change, never earlier than the previous one, even if a clock goes back.
    let changedAt: Timestamp
}

/// A change of a person's total on all boards.
///
/// An element counts for the person who created it, or has enlarged it since, so no one can use up another's
/// limit.
struct Charge: Sendable, Equatable {
    let userID: String
    let elements: Int
    let bytes: Int
}

extension [Charge] {
    var elements: Int { reduce(0) { $0 + $1.elements } }
    var bytes: Int { reduce(0) { $0 + $1.bytes } }

    /// The charges, one for each person with a change, in the order of ids. So two programs that change two rooms
    /// of the same people at once lock the people's rows in the same order.
    var byPerson: [Charge] {
        guard count > 1 else { return filter(\.changesAnything) }
        return Dictionary(grouping: self, by: \.userID)
            .map { Charge(userID: $0, elements: $1.elements, bytes: $1.bytes) }
            .filter(\.changesAnything)
            .sorted { $0.userID < $1.userID }
    }
}

extension Charge {
    fileprivate var changesAnything: Bool { elements != 0 || bytes != 0 }
}

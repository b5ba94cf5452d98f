import Contracts
import EventLog
import ServiceKit
import Storage

/// A room's board inside the transaction that changes it, and its limits. It is valid in the closure that was given it alone.
///
/// All that it reads and writes is of this room: who uses it passes no room's id.
struct Board {
    let request: RoomRequest
    private let store: BoardStore
    private let limits: BoardLimits

    init(for request: RoomRequest, _ limits: BoardLimits, on connection: any Connection) {
        self.request = request
        self.limits = limits
        store = BoardStore(connection)
    }

    var room: Membership { request.room }

    /// Counts a change, and returns the state that its events carry. Each change calls it once.
    ///
    /// - Parameter charges: what it adds and takes away, on whose account.
    /// - Throws: `payload_too_large` if that is more than the room or a person may have. What makes less of it always may.
    func advance(by charges: [Charge], at now: Timestamp) throws -> BoardState {
        let state = try store.advance(room.roomID, by: charges.elements, charges.bytes, upTo: limits.room, at: now)
        guard let state else { throw limits.roomIsFull }
        for charge in charges.byPerson {
            guard try store.apply(charge, upTo: limits.person) else { throw limits.personIsFull }
        }
        return state
    }

    /// - Returns: the entry's position in the event log.
    func emit(_ emissions: [Emission], at state: BoardState) throws -> Int {
        try request.emit(emissions, at: state.changedAt, on: store.connection)
    }

    func lastEntry() throws -> Int { try EventLog.head(on: store.connection) }

    // MARK: Elements

    func element(_ id: String) throws -> Element? { try store.element(id, in: room.roomID) }

    /// The element that its sender made under a key, be it deleted since.
    func elementID(sentBy senderID: String, as tempID: String) throws -> String? {
        try store.elementID(sentBy: senderID, as: tempID, in: room.roomID)
    }

    /// Adds an element of this room, and counts it for those who don't have the room open.
    func insert(_ element: Element, at state: BoardState) throws {
        precondition(element.roomID == room.roomID, "an element of another room")
        try store.insert(element, at: state)
        let others = room.userIDs.filter { $0 != element.createdBy }
        try store.countUnseen(state.rev, in: room.roomID, by: others)
    }

    /// Writes what an update may change.
    func replace(_ element: Element) throws { try store.replace(element) }

    /// - Returns: what is no longer there; nil if it was not there.
    func delete(_ id: String) throws -> Charge? { try store.delete(id, in: room.roomID) }

    /// - Returns: one for each that there was.
    func deleteAll() throws -> [Charge] { try store.deleteAll(in: room.roomID) }
}

/// A board's state after a change.
struct BoardState: Sendable, Equatable {
    let elementCount: Int
    /// Rises by one with each change.
    let rev: Int
    /// When it was changed: never earlier than the change before, also when a clock goes back.
    let changedAt: Timestamp
}

/// A change of a person's total on all boards.
///
/// An element counts for the person who created it, or has enlarged it since: nobody can use up
/// another's limit.
struct Charge: Sendable, Equatable {
    let userID: String
    let elements: Int
    let bytes: Int
}

extension [Charge] {
    var elements: Int { reduce(0) { $0 + $1.elements } }
    var bytes: Int { reduce(0) { $0 + $1.bytes } }

    /// One for each person that they change anything for, in the order of ids: two programs that change two rooms of the same
    /// people at once take the people's rows in the same order.
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

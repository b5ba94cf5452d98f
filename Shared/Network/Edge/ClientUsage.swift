import Reactor
import Synchronization

/// The resources that clients hold, over all loops: in total, by address, and bytes also by person.
final class ClientUsage: Sendable {
    /// Which limit a client is over.
    enum Excess: Error {
        case total, perAddress
        /// Of bytes alone.
        case perPerson
    }

    /// The limit of a client's bytes.
    enum Standing: Equatable {
        /// Has neither connected nor signed in. All strangers together may have half of the total, an address an eighth of its share.
        case stranger
        /// Has connected, or signed in: as this person, where the application knows people. A person may have what an address may have,
        /// from however many addresses.
        case known(person: String?)
        /// Known, and what is buffered is an answer that it is reading: it goes on for a while when others have filled the total.
        case reader(person: String?)

        fileprivate var person: String? {
            switch self {
            case .stranger: nil
            case .known(let person), .reader(let person): person
            }
        }

        fileprivate var isReader: Bool { if case .reader = self { true } else { false } }
    }

    /// The bytes that are buffered for one client.
    struct Buffered: Equatable {
        var bytes = 0
        /// nil counts in all only.
        var address: IPAddress?
        var standing = Standing.stranger

        fileprivate var strangerBytes: Int { standing == .stranger ? bytes : 0 }
    }

    private struct Amounts {
        var connections = 0
        var unconnectedSockets = 0
        var bufferedBytes = 0
        /// Of `bufferedBytes`.
        var strangerBytes = 0

        var isNothing: Bool { connections == 0 && unconnectedSockets == 0 && bufferedBytes == 0 }
    }

    private struct State {
        var total = Amounts()
        /// Only of addresses that hold something: connections bound them, or sockets.
        var byAddress: [IPAddress: Amounts] = [:]
        /// Buffered bytes, of people who have some.
        var byPerson: [String: Int] = [:]
    }

    private let limits: EdgeLimits
    private let state = Mutex(State())

    init(_ limits: EdgeLimits) { self.limits = limits }

    var connections: Int { state.withLock { $0.total.connections } }
    var unconnectedSockets: Int { state.withLock { $0.total.unconnectedSockets } }
    var bufferedBytes: Int { state.withLock { $0.total.bufferedBytes } }
    /// No connection is counted, and without bytes in all none by address or person. There may be bytes: of events of clients that have
    /// gone, on which the application still works.
    var hasNoConnections: Bool {
        state.withLock { state in
            let hasNoShares = state.byAddress.isEmpty && state.byPerson.isEmpty
            return state.total.connections == 0 && state.total.unconnectedSockets == 0
                && (state.total.bufferedBytes != 0 || hasNoShares)
        }
    }

    // MARK: Connections

    /// - Parameter address: nil for a connection that counts in all only.
    func addConnection(of address: IPAddress?) throws(Excess) {
        try add(\.connections, of: address, limits.connections)
    }

    func removeConnection(of address: IPAddress?) {
        state.withLock { state in
            state.total.connections -= 1
            if let address { Self.change(\.connections, by: -1, of: address, &state) }
        }
    }

    /// A connection goes on as one that counts in all only, or as one of this address; if that has its share, it stays as it is.
    func moveConnection(from address: IPAddress?, to other: IPAddress?) throws(Excess) {
        if address == other { return }
        let share = limits.connections.perAddress ?? .max
        let fits = state.withLock { state in
            if let other {
                if (state.byAddress[other]?.connections ?? 0) >= share { return false }
                Self.change(\.connections, by: 1, of: other, &state)
            }
            if let address { Self.change(\.connections, by: -1, of: address, &state) }
            return true
        }
        if !fits { throw .perAddress }
    }

    // MARK: Sockets

    func addUnconnectedSocket(of address: IPAddress) throws(Excess) {
        try add(\.unconnectedSockets, of: address, limits.unconnectedSockets)
    }

    func removeUnconnectedSocket(of address: IPAddress) {
        state.withLock { state in
            state.total.unconnectedSockets -= 1
            Self.change(\.unconnectedSockets, by: -1, of: address, &state)
        }
    }

    // MARK: Bytes

    /// Counts a client as `after` in place of `before`. Less of one address and standing is always granted, and so is what fits
    /// `EdgeLimits.smallBuffer`. What is refused stays counted as `before`.
    func changeBuffer(from before: Buffered, to after: Buffered) throws(Excess) {
        let excess: Excess? = state.withLock { state in
            if let excess = self.excess(from: before, to: after, state) { return excess }
            Self.change(before, by: -1, &state)
            Self.change(after, by: 1, &state)
            return nil
        }
        if let excess { throw excess }
    }

    private func excess(from before: Buffered, to after: Buffered, _ state: borrowing State) -> Excess? {
        let isSameAddress = after.address == before.address
        let grows =
            after.bytes > before.bytes || !isSameAddress || after.strangerBytes > before.strangerBytes
            || after.standing.person != before.standing.person
        guard grows, after.bytes > EdgeLimits.smallBuffer else { return nil }
        let limits = limits.bufferedBytes
        let total = state.total.bufferedBytes + after.bytes - before.bytes
        let strangers = state.total.strangerBytes + after.strangerBytes - before.strangerBytes
        if total > (after.standing.isReader ? limits.total / 2 * 3 : limits.total) { return .total }
        if after.standing == .stranger, strangers > limits.total / 2 { return .total }

        guard let share = limits.perAddress else { return nil }
        if let address = after.address {
            let held = state.byAddress[address] ?? Amounts()
            let own = isSameAddress ? before : Buffered()
            if held.bufferedBytes + after.bytes - own.bytes > share { return .perAddress }
            let ofStrangers = held.strangerBytes + after.strangerBytes - own.strangerBytes
            if after.standing == .stranger, ofStrangers > share / EdgeLimits.strangersPart { return .perAddress }
        }
        if let person = after.standing.person {
            let own = before.standing.person == person ? before.bytes : 0
            if (state.byPerson[person] ?? 0) + after.bytes - own > share { return .perPerson }
        }
        return nil
    }

    private static func change(_ buffered: Buffered, by sign: Int, _ state: inout State) {
        guard buffered.bytes > 0 else { return }
        state.total.bufferedBytes += sign * buffered.bytes
        state.total.strangerBytes += sign * buffered.strangerBytes
        if let person = buffered.standing.person {
            let bytes = (state.byPerson[person] ?? 0) + sign * buffered.bytes
            state.byPerson[person] = bytes == 0 ? nil : bytes
        }
        guard let address = buffered.address else { return }
        var amounts = state.byAddress[address] ?? Amounts()
        amounts.bufferedBytes += sign * buffered.bytes
        amounts.strangerBytes += sign * buffered.strangerBytes
        state.byAddress[address] = amounts.isNothing ? nil : amounts
    }

    // MARK: Both

    private func add(
        _ amount: WritableKeyPath<Amounts, Int> & Sendable, of address: IPAddress?, _ limit: EdgeLimits.Limit
    ) throws(Excess) {
        let excess: Excess? = state.withLock { state in
            // The address first: whoever is over its share takes nobody's place.
            if let address, let share = limit.perAddress, (state.byAddress[address]?[keyPath: amount] ?? 0) >= share {
                return .perAddress
            }
            if state.total[keyPath: amount] >= limit.total { return .total }
            state.total[keyPath: amount] += 1
            if let address { Self.change(amount, by: 1, of: address, &state) }
            return nil
        }
        if let excess { throw excess }
    }

    private static func change(
        _ amount: WritableKeyPath<Amounts, Int>, by difference: Int, of address: IPAddress, _ state: inout State
    ) {
        var amounts = state.byAddress[address] ?? Amounts()
        amounts[keyPath: amount] += difference
        state.byAddress[address] = amounts.isNothing ? nil : amounts
    }
}

/// Who waits for something from its client, the longest first. Joining and leaving take one step.
///
/// Its members are in one such list at most, are kept alive by somebody else, and leave it before they go.
struct WaitingList<Member: Waiting> {
    private(set) unowned var first: Member?
    private unowned var last: Member?
    private(set) var count = 0

    /// Puts a member at the end. Not one that is in it; nothing for one that has retired.
    mutating func append(_ member: Member) {
        if member.link.isRetired { return }
        precondition(!member.link.isTaken, "a member is in one list, once")
        member.link.isTaken = true
        member.link.previous = last
        if let last { last.link.next = member } else { first = member }
        last = member
        count += 1
    }

    /// Nothing for who is not in it.
    mutating func remove(_ member: Member) {
        guard member.link.isTaken else { return }
        let (previous, next) = (member.link.previous, member.link.next)
        member.link = WaitingLink()
        if let previous { previous.link.next = next } else { first = next }
        if let next { next.link.previous = previous } else { last = previous }
        count -= 1
    }

    /// Removes a member for good, as it is about to go: nothing here keeps it alive.
    mutating func retire(_ member: Member) {
        remove(member)
        member.link.isRetired = true
    }
}

/// A member of a `WaitingList`.
protocol Waiting: AnyObject {
    var link: WaitingLink<Self> { get set }
}

/// A member's place in its list; the list's own.
struct WaitingLink<Member: AnyObject> {
    fileprivate(set) var isTaken = false
    fileprivate var isRetired = false
    fileprivate unowned var previous: Member?
    fileprivate unowned var next: Member?

    init() {}
}

import Reactor
import Synchronization

/// What clients hold of a server, over all its loops: in all, and by address.
final class ClientUsage: Sendable {
    /// Which limit a client is over.
    enum Excess: Error {
        case total, perAddress
    }

    private struct Amounts {
        var connections = 0
        var pendingSockets = 0
        var bufferedBytes = 0

        var isNothing: Bool { connections == 0 && pendingSockets == 0 && bufferedBytes == 0 }
    }

    private struct State {
        var total = Amounts()
        /// Only of addresses that hold something: connections bound them, or sockets.
        var byAddress: [IPAddress: Amounts] = [:]
    }

    private let limits: EdgeLimits
    private let state = Mutex(State())

    init(_ limits: EdgeLimits) { self.limits = limits }

    var connections: Int { state.withLock { $0.total.connections } }
    var pendingSockets: Int { state.withLock { $0.total.pendingSockets } }
    var bufferedBytes: Int { state.withLock { $0.total.bufferedBytes } }

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

    /// A connection goes on as one that counts in all only, or as one of this address.
    func moveConnection(from address: IPAddress?, to other: IPAddress?) {
        state.withLock { state in
            if let address { Self.change(\.connections, by: -1, of: address, &state) }
            if let other { Self.change(\.connections, by: 1, of: other, &state) }
        }
    }

    // MARK: Sockets

    func addPendingSocket(of address: IPAddress) throws(Excess) {
        try add(\.pendingSockets, of: address, limits.pendingSockets)
    }

    /// A socket that came in before is pending again, however many others are.
    func returnPendingSocket(of address: IPAddress) {
        state.withLock { state in
            state.total.pendingSockets += 1
            Self.change(\.pendingSockets, by: 1, of: address, &state)
        }
    }

    func removePendingSocket(of address: IPAddress) {
        state.withLock { state in
            state.total.pendingSockets -= 1
            Self.change(\.pendingSockets, by: -1, of: address, &state)
        }
    }

    // MARK: Bytes

    /// Counts a client with `bytes` in place of `before`. Less is always granted, and so is what fits `EdgeLimits.smallBuffer`.
    ///
    /// - Parameters:
    ///   - address: nil counts in all only.
    ///   - isConnected: whether its socket has connected to a namespace.
    func changeBuffer(of address: IPAddress?, from before: Int, to bytes: Int, isConnected: Bool) throws(Excess) {
        let limits = limits.bufferedBytes
        let excess: Excess? = state.withLock { state in
            if bytes > before, bytes > EdgeLimits.smallBuffer {
                let total = state.total.bufferedBytes + bytes - before
                if total > (isConnected ? limits.total : limits.total / 2) { return .total }
                if let address, let limit = limits.perAddress,
                    (state.byAddress[address]?.bufferedBytes ?? 0) + bytes - before > limit
                {
                    return .perAddress
                }
            }
            state.total.bufferedBytes += bytes - before
            if let address { Self.change(\.bufferedBytes, by: bytes - before, of: address, &state) }
            return nil
        }
        if let excess { throw excess }
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

    /// Puts a member at the end. Not one that is in it.
    mutating func append(_ member: Member) {
        precondition(!member.place.isTaken, "a member is in one list, once")
        member.place.isTaken = true
        member.place.previous = last
        if let last { last.place.next = member } else { first = member }
        last = member
        count += 1
    }

    /// Nothing for who is not in it.
    mutating func remove(_ member: Member) {
        guard member.place.isTaken else { return }
        let (previous, next) = (member.place.previous, member.place.next)
        member.place = WaitingPlace()
        if let previous { previous.place.next = next } else { first = next }
        if let next { next.place.previous = previous } else { last = previous }
        count -= 1
    }
}

/// What may be in a `WaitingList`.
protocol Waiting: AnyObject {
    var place: WaitingPlace<Self> { get set }
}

/// A member's place in its list; the list's own.
struct WaitingPlace<Member: AnyObject> {
    fileprivate(set) var isTaken = false
    fileprivate unowned var previous: Member?
    fileprivate unowned var next: Member?

    init() {}
}

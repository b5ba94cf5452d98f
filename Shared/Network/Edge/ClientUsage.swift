import ParlorReactor
import Synchronization

/// The resources that clients hold, over all loops: in total, by address, and bytes also by person.
final class ClientUsage: Sendable {
    /// The limit that a client exceeds.
    enum Excess: Error {
        case total, perAddress
        /// The limit of a person, which exists for bytes alone.
        case perPerson
    }

    /// The class of a client, which decides its limit of buffered bytes.
    enum Standing: Equatable {
        /// A client that has neither connected nor signed in. All strangers together may have half of the
        /// total, and those of one address an eighth of its share.
        case stranger
        /// A client that has connected or signed in, as this person; nil if the application has set none. A
        /// person may have as much as an address, from any number of addresses.
        case known(person: String?)
        /// A known client that is reading the buffered answer. For it the limit in total is one and a half times as
        /// high, so that it can finish when others have filled the total.
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
        /// The client's address; nil if its bytes count for no address.
        var address: IPAddress?
        var standing = Standing.stranger

        fileprivate var strangerBytes: Int { standing == .stranger ? bytes : 0 }
    }

    /// Which of its address's two limits a connection counts against.
    enum ConnectionShare {
        /// `EdgeLimits.connections`.
        case unconnected
        /// `EdgeLimits.connectedSocketsPerAddress`, for a connection whose socket has connected to a namespace.
        case connected
    }

    private struct Amounts {
        /// In the total, this counts all connections. In an address's amounts, it counts only those that count as
        /// unconnected.
        var connections = 0
        var connectedSockets = 0
        var unconnectedSockets = 0
        var bufferedBytes = 0
        /// The part of `bufferedBytes` that belongs to strangers.
        var strangerBytes = 0

        var isNothing: Bool {
            connections == 0 && connectedSockets == 0 && unconnectedSockets == 0 && bufferedBytes == 0
        }

        static func connections(of share: ConnectionShare) -> WritableKeyPath<Amounts, Int> {
            share == .connected ? \.connectedSockets : \.connections
        }
    }

    private struct State {
        var total = Amounts()
        /// The amounts of addresses that hold something. The limits of connections and sockets bound their
        /// number.
        var byAddress: [IPAddress: Amounts] = [:]
        /// The buffered bytes of each person who has some.
        var byPerson: [String: Int] = [:]
    }

    private let limits: EdgeLimits
    private let state = Mutex(State())

    init(_ limits: EdgeLimits) { self.limits = limits }

    var connections: Int { state.withLock { $0.total.connections } }
    var unconnectedSockets: Int { state.withLock { $0.total.unconnectedSockets } }
    var bufferedBytes: Int { state.withLock { $0.total.bufferedBytes } }
    /// True if no connection and no socket is counted. If no bytes are counted either, there must
    /// be no address and no person left. Bytes may remain: those of events of closed clients that
    /// the application still works on.
    var hasNoConnections: Bool {
        state.withLock { state in
            let hasNoShares = state.byAddress.isEmpty && state.byPerson.isEmpty
            return state.total.connections == 0 && state.total.unconnectedSockets == 0
                && (state.total.bufferedBytes != 0 || hasNoShares)
        }
    }

    // MARK: Connections

    /// - Parameters:
    ///   - address: nil for a connection that counts in the total only.
    ///   - beyond: by how much the total may exceed its limit afterwards.
    func addConnection(of address: IPAddress?, beyond: Int = 0) throws(Excess) {
        try add(\.connections, of: address, limits.connections, beyond: beyond)
    }

    func removeConnection(of address: IPAddress?, as share: ConnectionShare = .unconnected) {
        state.withLock { state in
            state.total.connections -= 1
            if let address { Self.change(Amounts.connections(of: share), by: -1, of: address, &state) }
        }
    }

    /// Moves a connection to another address. If that is at its limit, this throws, and the connection stays counted
    /// for the first one.
    func moveConnection(from address: IPAddress?, to other: IPAddress) throws(Excess) {
        if address == other { return }
        let isMoved = state.withLock { state in
            guard has(room: .unconnected, other, state) else { return false }
            Self.change(\.connections, by: 1, of: other, &state)
            if let address { Self.change(\.connections, by: -1, of: address, &state) }
            return true
        }
        if !isMoved { throw .perAddress }
    }

    /// Counts a connection against the other limit of its address.
    ///
    /// - Returns: false if that limit is reached; the connection then stays counted as before.
    func moveConnection(of address: IPAddress, to share: ConnectionShare) -> Bool {
        state.withLock { state in
            guard has(room: share, address, state) else { return false }
            Self.change(Amounts.connections(of: share), by: 1, of: address, &state)
            Self.change(
                Amounts.connections(of: share == .connected ? .unconnected : .connected), by: -1, of: address, &state)
            return true
        }
    }

    private func has(room share: ConnectionShare, _ address: IPAddress, _ state: borrowing State) -> Bool {
        let limit = share == .connected ? limits.connectedSocketsPerAddress : limits.connections.perAddress
        return state.byAddress[address]?[keyPath: Amounts.connections(of: share)] ?? 0 < limit ?? .max
    }

    // MARK: Sockets

    /// - Parameter beyond: by how much the total may exceed its limit afterwards.
    func addUnconnectedSocket(of address: IPAddress, beyond: Int = 0) throws(Excess) {
        try add(\.unconnectedSockets, of: address, limits.unconnectedSockets, beyond: beyond)
    }

    func removeUnconnectedSocket(of address: IPAddress) {
        state.withLock { state in
            state.total.unconnectedSockets -= 1
            Self.change(\.unconnectedSockets, by: -1, of: address, &state)
        }
    }

    // MARK: Bytes

    /// Counts a client as `after` instead of `before`. A decrease for the same address and standing is always
    /// granted, and so is an amount within `EdgeLimits.smallBuffer`. After a refusal the client stays counted
    /// as `before`.
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
        _ amount: WritableKeyPath<Amounts, Int> & Sendable, of address: IPAddress?, _ limit: EdgeLimits.Limit,
        beyond: Int
    ) throws(Excess) {
        let excess: Excess? = state.withLock { state in
            // Check the address first: a client over its own share must not evict anyone.
            if let address, let share = limit.perAddress, (state.byAddress[address]?[keyPath: amount] ?? 0) >= share {
                return .perAddress
            }
            if state.total[keyPath: amount] >= limit.total + beyond { return .total }
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

import Reactor
import Synchronization

/// What clients hold of a server, over all its loops: in all, and by address.
final class ClientUsage: Sendable {
    /// Which limit a client is over.
    enum Excess: Error {
        case total, perAddress
    }

    /// How far a client's bytes may grow.
    enum Standing {
        /// Has neither connected nor signed in. All strangers together may have half of the total, an address an eighth of its share.
        case stranger
        /// Has connected, or signed in.
        case known
        /// Known, and what is buffered is an answer that it is reading: it goes on for a while when others have filled the total.
        case reader
    }

    /// What is counted as buffered for one client.
    struct Buffered: Equatable {
        var bytes = 0
        /// nil counts in all only.
        var address: IPAddress?
        var standing = Standing.stranger

        fileprivate var strangerBytes: Int { standing == .stranger ? bytes : 0 }
    }

    private struct Amounts {
        var connections = 0
        var pendingSockets = 0
        var bufferedBytes = 0
        /// Of `bufferedBytes`.
        var strangerBytes = 0

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
    /// Nobody holds anything, in all or by address.
    var isNothing: Bool { state.withLock { $0.total.isNothing && $0.byAddress.isEmpty } }

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

    func addPendingSocket(of address: IPAddress) throws(Excess) {
        try add(\.pendingSockets, of: address, limits.pendingSockets)
    }

    func removePendingSocket(of address: IPAddress) {
        state.withLock { state in
            state.total.pendingSockets -= 1
            Self.change(\.pendingSockets, by: -1, of: address, &state)
        }
    }

    // MARK: Bytes

    /// Counts a client as `after` in place of `before`. Less is always granted, and so is what fits `EdgeLimits.smallBuffer`.
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
        let grows = after.bytes > before.bytes || !isSameAddress || after.strangerBytes > before.strangerBytes
        guard grows, after.bytes > EdgeLimits.smallBuffer else { return nil }
        let limits = limits.bufferedBytes
        let total = state.total.bufferedBytes + after.bytes - before.bytes
        let strangers = state.total.strangerBytes + after.strangerBytes - before.strangerBytes
        if total > (after.standing == .reader ? limits.total / 2 * 3 : limits.total) { return .total }
        if after.standing == .stranger, strangers > limits.total / 2 { return .total }

        guard let address = after.address, let share = limits.perAddress else { return nil }
        let held = state.byAddress[address] ?? Amounts()
        let own = isSameAddress ? before : Buffered()
        if held.bufferedBytes + after.bytes - own.bytes > share { return .perAddress }
        let ofStrangers = held.strangerBytes + after.strangerBytes - own.strangerBytes
        if after.standing == .stranger, ofStrangers > share / EdgeLimits.strangersPart { return .perAddress }
        return nil
    }

    private static func change(_ buffered: Buffered, by sign: Int, _ state: inout State) {
        guard buffered.bytes > 0 else { return }
        state.total.bufferedBytes += sign * buffered.bytes
        state.total.strangerBytes += sign * buffered.strangerBytes
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

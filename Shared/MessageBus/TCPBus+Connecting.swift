import JSON
import Reactor

// Being connected, and coming back. On the loop, but for the first attempt.
extension TCPBus {
    /// What is to be sent now. The connection says when the kernel has it.
    func takeOutgoing(for connection: LoopBound<TCPBusConnection>) -> [UInt8] {
        state.withLock { $0.takeOutgoing(for: connection) }
    }

    func sent(stillPending count: Int) { state.withLock { $0.unsent = count } }

    var hasDeadlines: Bool { state.withLock { $0.asked.hasDeadlines || $0.serving.hasDeadlines } }

    func expire() {
        let now = start.duration(to: .now)
        let late = state.withLock { state in
            _ = state.serving.expire(at: now)
            return state.asked.expire(at: now)
        }
        for completion in late { completion(.failure(.deadlineExceeded)) }
        drained()
    }

    func pingIfIdle() {
        say { state in
            state.pongs.append { _ in }
            LineWriter.ping(to: &state.outgoing)
        }
    }

    /// The broker has taken this peer: all subscriptions go out first, then everyone may speak.
    ///
    /// - Returns: false if the bus was closed meanwhile.
    func connected(_ connection: LoopBound<TCPBusConnection>) -> Bool {
        let told = say { state -> (watchers: [@Sendable (BusState) -> Void], first: TCPBusState.FirstConnection?)? in
            guard !state.isClosed else { return nil }
            return (Array(state.watchers.values), state.connect(connection))
        }
        guard let told else { return false }
        if let first = told.first { first(.success(())) } else { for watcher in told.watchers { watcher(.connected) } }
        return true
    }

    /// - Parameter refusal: what the broker said in place of a welcome.
    func disconnected(refusal: String?) {
        let lost = state.withLock { $0.disconnect() }
        for completion in lost.asked { completion(.failure(.disconnected)) }
        for pong in lost.pongs { pong(.failure(.disconnected)) }
        for watcher in lost.watchers { watcher(.disconnected) }
        if let refusal {
            trouble("the bus at \(host):\(port) refuses us: \(refusal)")
            giveUp(.refused(refusal))
        } else {
            trouble("no connection to the bus at \(host):\(port)")
        }
        drained()
        retry()
    }

    func attempt() {
        // On the loop: coming back must not wait for a pool that others keep busy.
        Task(executorPreference: loop) { [self] in
            do throws(ConnectError) {
                try await loop.connect(host: host, port: port, timeout: .seconds(5)) { channel in
                    TCPBusConnection(channel, bus: self)
                }
            } catch {
                trouble("no connection to the bus at \(host):\(port): \(error)")
                loop.execute { self.retry() }
            }
        }
    }

    private func retry() {
        let delay = state.withLock { state -> Duration? in
            guard !state.isClosed else { return nil }
            var random = SystemRandomNumberGenerator()
            return state.backoff.next(using: &random)
        }
        if let delay { loop.schedule(after: delay) { self.attempt() } }
    }

    private func trouble(_ reason: String) {
        let isNew = state.withLock { state in
            defer { state.lastTrouble = reason }
            return state.lastTrouble != reason && !state.isClosed
        }
        if isNew { onTrouble(reason) }
    }

    /// Ends a bus that has never been connected; does nothing to another.
    func giveUp(_ error: BusError) {
        let first = state.withLock { state in
            guard let first = state.firstConnection else { return nil as TCPBusState.FirstConnection? }
            state.firstConnection = nil
            state.isClosed = true
            return first
        }
        first?(.failure(error))
    }
}

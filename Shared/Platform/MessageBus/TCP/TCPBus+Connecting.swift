import JSON
import Reactor

// Being connected, and coming back. On the loop, but for the first attempt.
extension TCPBus {
    /// What is to be sent now, and how long until `expire` is to be called, if that is sooner than was said before. The connection says
    /// when the kernel has the bytes.
    func takeOutgoing(for connection: LoopBound<TCPBusConnection>) -> (bytes: [UInt8], expiry: Duration?) {
        let (bytes, expiry) = state.withLock { $0.takeOutgoing(for: connection) }
        return (bytes, expiry.map { $0 - start.duration(to: .now) })
    }

    func sent(stillPending count: Int) { state.withLock { $0.unsent = count } }

    func expire() {
        let now = start.duration(to: .now)
        let late = say { state in
            state.watch.end()
            _ = state.serving.expire(at: now)
            let late = state.asked.expire(at: now)
            for id in state.unanswered.expire(at: now) { askAgain(id, at: now, &state) }
            return late.map(\.completion)
        }
        for completion in late { completion(.failure(.deadlineExceeded)) }
        drained()
    }

    /// Under the same number: whichever reply comes first ends it, and another finds nobody.
    private func askAgain(_ id: UInt64, at now: Duration, _ state: inout TCPBusState) {
        guard let question = state.asked[id]?.question, state.pendingBytes < maxPendingBytes,
            state.repeats.take()
        else { return }
        var context = question.context
        context.timeout = question.deadline - now
        // It was not too long the first time.
        _ = state.append { wire.request(id, question.subject, question.data, context, to: &$0) }
        state.asked.update(id) { $0.question?.isRepeated = true }
        state.counters.repeatedQuestions &+= 1
    }

    func pingIfIdle() {
        say { state in
            state.pongs.append { _ in }
            wire.ping(to: &state.outgoing)
        }
    }

    /// The broker has taken this peer: all subscriptions go out first, then everyone may speak.
    ///
    /// - Returns: false if the bus was closed meanwhile.
    func connected(_ connection: LoopBound<TCPBusConnection>, _ welcome: BusWelcome) -> Bool {
        let told = say { state -> (watchers: [@Sendable (BusState) -> Void], first: TCPBusState.FirstConnection?)? in
            guard !state.isClosed else { return nil }
            return (Array(state.watchers.values), state.connect(connection, welcome))
        }
        guard let told else { return false }
        if let longest = welcome.maxMessage {
            trouble(
                "the bus takes \(longest) bytes at most, where Parlor may say \(BusLimits.maxLine): more is refused")
        }
        if let first = told.first { first(.success(())) } else { for watcher in told.watchers { watcher(.connected) } }
        return true
    }

    /// - Parameter refusal: what the broker said in place of a welcome.
    func disconnected(from address: BusAddress, refusal: String?) {
        let lost = state.withLock { $0.disconnect() }
        for completion in lost.asked { completion(.failure(.disconnected)) }
        for pong in lost.pongs { pong(.failure(.disconnected)) }
        for watcher in lost.watchers { watcher(.disconnected) }
        if let refusal {
            trouble("the bus at \(address) refuses us: \(refusal)")
            giveUp(.refused(refusal))
        } else {
            trouble("no connection to the bus at \(address)")
        }
        drained()
        retry()
    }

    func attempt() {
        let address = state.withLock { $0.servers.next() }
        // On the loop: coming back must not wait for a pool that others keep busy.
        Task(executorPreference: loop) { [self] in
            do throws(ConnectError) {
                try await loop.connect(host: address.host, port: address.port, timeout: .seconds(5)) { channel in
                    TCPBusConnection(channel, to: address, bus: self)
                }
            } catch {
                trouble("no connection to the bus at \(address): \(error)")
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

    /// Told once a connection, and once while there is none.
    func trouble(_ reason: String) {
        if state.withLock({ $0.note(trouble: reason) }) { onTrouble(reason) }
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

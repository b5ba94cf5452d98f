import ParlorReactor

/// Waits until sockets have taken what was sent to them before, which may be of a room that their people have left.
struct OutputDrain {
    private static let interval: Duration = .milliseconds(10)
    private static let steps = 30

    private let subscribers: [Subscriber]

    init(_ subscribers: [Subscriber]) { self.subscribers = subscribers.filter { $0.socket.unsentCost > 0 } }

    /// Returns once nothing waits for the sockets. One that does not take it in time is closed: when it comes back, it gets
    /// what it may have.
    func finish(on delivery: isolated LoopDelivery) async {
        var waiting = subscribers
        for _ in 0..<Self.steps where !waiting.isEmpty {
            await withCheckedContinuation { continuation in
                _ = delivery.loop.schedule(after: Self.interval) { continuation.resume() }
            }
            waiting.removeAll { !$0.isConnected || $0.socket.unsentCost == 0 }
        }
        for subscriber in waiting { subscriber.socket.abandonTransport() }
    }
}

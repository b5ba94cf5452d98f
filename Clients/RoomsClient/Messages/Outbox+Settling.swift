extension Outbox {
    /// Returns when every message has been stored or has failed, or when the task is cancelled. Meanwhile messages are sent as ever.
    public func settle() async {
        takeOverKept()
        while !Task.isCancelled, !isStopped, let sender = queues.values.compactMap(\.sender).first {
            // Waiting is given up with the task; the sending goes on.
            _ = try? await Task<Void, any Error> { await sender.value }.valueUnlessCancelled
        }
    }
}

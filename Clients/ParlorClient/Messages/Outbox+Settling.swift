extension Outbox {
    /// Returns when no message is waiting or being sent, or when the task is cancelled. Sending is not
    /// affected.
    public func settle() async {
        takeOverKept()
        while !Task.isCancelled, !isStopped, let sender = queues.values.compactMap(\.sender).first {
            // Cancellation ends only this wait; sending continues.
            _ = try? await Task<Void, any Error> { await sender.value }.valueUnlessCancelled
        }
    }
}

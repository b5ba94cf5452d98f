extension Outbox {
    /// Returns when no message is waiting or being sent, when the outbox is stopped, or when the task is cancelled.
    /// Cancelling does not affect the sending. Failed messages are not waited for.
    package func settle() async {
        takeOverKept()
        while !Task.isCancelled, !isStopped, let sender = queues.values.compactMap(\.sender).first {
            // A cancellation ends only this wait. Sending continues.
            _ = try? await Task<Void, any Error> { await sender.value }.valueUnlessCancelled
        }
    }
}

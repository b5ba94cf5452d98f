import ParlorReactor

extension EventLoop {
    /// Waits for a duration. Call it on the loop only.
    package func pause(_ duration: Duration) async {
        await withCheckedContinuation { continuation in
            _ = schedule(after: duration) { continuation.resume() }
        }
    }
}

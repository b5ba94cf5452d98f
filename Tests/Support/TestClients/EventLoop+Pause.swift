import Reactor

extension EventLoop {
    /// Returns after so long. On the loop only.
    package func pause(_ duration: Duration) async {
        await withCheckedContinuation { continuation in
            _ = schedule(after: duration) { continuation.resume() }
        }
    }
}

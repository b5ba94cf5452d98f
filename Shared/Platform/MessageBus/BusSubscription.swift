import Synchronization

/// Stands until it is cancelled; dropping it changes nothing.
public final class BusSubscription: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    package init(end: @escaping @Sendable () -> Void) {
        self.end = Mutex(end)
    }

    /// Ends it. A call of the handler that is under way on another thread may still finish. Cancelling again does
    /// nothing.
    public func cancel() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}

import Synchronization

/// Says until when accepted connections may be written to. While it is closed, their output waits.
///
/// Each write checks it, so that a process that was stopped writes nothing late after it has gone on.
public final class OutputGate: Sendable {
    /// The interval at which held output tries again.
    static let retryInterval: Duration = .milliseconds(5)

    /// In nanoseconds, as of `LoopInstant`.
    private let end = Atomic<UInt64>(.max)

    /// Creates an open gate.
    public init() {}

    /// Opens the gate until an instant; nil for as long as it is not closed.
    public func open(until end: LoopInstant?) { self.end.store(end?.nanoseconds ?? .max, ordering: .releasing) }

    public func close() { end.store(0, ordering: .releasing) }

    public var isOpen: Bool {
        let end = end.load(ordering: .acquiring)
        return end == .max || LoopInstant.now().nanoseconds < end
    }
}

import Observation

/// The values of a closure that reads observable models: the current value first, and then one after each change. It is
/// for code without a SwiftUI `body`: UIKit, AppKit and tests.
///
///     for await rooms in ObservedValues({ client.rooms.rooms }) { apply(rooms) }
///
/// Changes in one turn of the main actor yield one value. Changes that come while a value is handled also yield one,
/// the latest. A value may equal the one before, because a model may change and change back.
///
/// The sequence ends when its task is cancelled.
public struct ObservedValues<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value

    private let value: @MainActor @Sendable () -> Value

    /// - Parameter value: reads the models. A model that it captures is kept as long as the sequence.
    public init(_ value: @escaping @MainActor @Sendable () -> Value) { self.value = value }

    public func makeAsyncIterator() -> AsyncStream<Value>.Iterator {
        AsyncStream(unfolding: makeReader()).makeAsyncIterator()
    }

    /// Returns a function that waits for the next value. It returns nil if its task is cancelled.
    func makeReader() -> @Sendable () async -> Value? {
        let observation = Observation(value)
        return { await observation.next() }
    }

    @MainActor
    private final class Observation {
        private let value: @MainActor @Sendable () -> Value
        /// Has an element after the value's next change; nil before the first value.
        private var changes: AsyncStream<Void>?

        nonisolated init(_ value: @escaping @MainActor @Sendable () -> Value) { self.value = value }

        func next() async -> Value? {
            if let changes {
                var iterator = changes.makeAsyncIterator()
                // Nil if the task is cancelled.
                guard await iterator.next() != nil else { return nil }
            }
            guard !Task.isCancelled else { return nil }
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            changes = stream
            // The change is reported before it is made, and in the same turn. So the next turn reads the new value.
            return withObservationTracking(value) { continuation.yield() }
        }
    }
}

import Observation

/// What a closure reads from observable models, each time that it changes: for UIKit and AppKit, tests, and all else
/// that has no `body`.
///
///     for await rooms in ObservedValues({ client.rooms.rooms }) { apply(rooms) }
///
/// The first value is that of the start. Changes in one turn of the main actor are one value, and so are those that come
/// while the last value is handled: the value is then the latest one. Values may be equal, as a model may change and
/// change back.
///
/// The sequence ends when its task is cancelled.
public struct ObservedValues<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value

    private let value: @MainActor @Sendable () -> Value

    /// - Parameter value: reads the models. A model that it captures is kept as long as the sequence.
    public init(_ value: @escaping @MainActor @Sendable () -> Value) { self.value = value }

    public func makeAsyncIterator() -> Iterator { Iterator(value: value) }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let value: @MainActor @Sendable () -> Value
        /// Has an element after the value's next change; nil before the first value.
        private var changes: AsyncStream<Void>?

        fileprivate init(value: @escaping @MainActor @Sendable () -> Value) { self.value = value }

        public mutating func next() async -> Value? {
            if let changes {
                var iterator = changes.makeAsyncIterator()
                // Nil if the task is cancelled.
                guard await iterator.next() != nil else { return nil }
            }
            guard !Task.isCancelled else { return nil }
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            changes = stream
            // The change is reported before it is made, and in the same turn. So the next turn reads the new value.
            return await Self.read(value) { continuation.yield() }
        }

        @MainActor
        private static func read(_ value: @MainActor () -> Value, onChange: @escaping @Sendable () -> Void) -> Value {
            withObservationTracking(value) {
                onChange()
            }
        }
    }
}

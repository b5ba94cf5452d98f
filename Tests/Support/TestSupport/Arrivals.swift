/// Values that arrive from any thread, in order. A test waits for the next one.
public final class Arrivals<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    // Unbounded: a test reads all that it causes.
    public init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded) }

    public func add(_ value: Value) { continuation.yield(value) }

    /// Waits for the next value.
    ///
    /// - Throws: `CancellationError` when the test has run out of time.
    public func next() async throws -> Value {
        var iterator = stream.makeAsyncIterator()
        guard let value = await iterator.next() else { throw CancellationError() }
        return value
    }

    public func next(_ count: Int) async throws -> [Value] {
        var values: [Value] = []
        while values.count < count { values.append(try await next()) }
        return values
    }
}

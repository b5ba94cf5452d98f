/// What arrives from anywhere, in order. Waiting for it is all the waiting that tests do.
public final class Arrivals<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    // Kept without limit: a test reads all it makes.
    public init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded) }

    public func add(_ value: Value) { continuation.yield(value) }

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

/// What arrives from anywhere, in order. Waiting for it is all the waiting that tests do.
public final class Arrivals<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    // Kept without limit: a test reads all it makes.
    public init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded) }

    public func add(_ value: Value) { continuation.yield(value) }

    public func next() async -> Value? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next()
    }

    public func next(_ count: Int) async -> [Value] {
        var values: [Value] = []
        while values.count < count, let value = await next() { values.append(value) }
        return values
    }
}

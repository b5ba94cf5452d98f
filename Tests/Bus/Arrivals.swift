/// What arrives from anywhere, in order. Waiting for it is all the waiting that tests do.
final class Arrivals<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded) }

    func add(_ value: Value) { continuation.yield(value) }

    func next() async -> Value? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next()
    }

    func next(_ count: Int) async -> [Value] {
        var values: [Value] = []
        while values.count < count, let value = await next() { values.append(value) }
        return values
    }
}

import JSON
import ServiceKit
import Synchronization
import Testing

/// What was logged.
final class CapturedLog: Sendable {
    private let lines = Mutex("")

    var text: String { lines.withLock { $0 } }

    var logger: Logger {
        Logger("test", level: .debug) { line in
            self.lines.withLock { $0 += String(decoding: line, as: UTF8.self) }
        }
    }
}

/// What arrives from anywhere, in order. Waiting for it is all the waiting that tests do.
final class Arrivals<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    // Kept without limit: a test reads all it makes.
    init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded) }

    func add(_ value: Value) { continuation.yield(value) }

    func next() async throws -> Value {
        var iterator = stream.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    func next(_ count: Int) async throws -> [Value] {
        var values: [Value] = []
        while values.count < count { values.append(try await next()) }
        return values
    }
}

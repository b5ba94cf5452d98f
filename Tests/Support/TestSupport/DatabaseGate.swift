import Foundation
import ParlorStorage
import ParlorWorkers

/// Blocks a thread of a database, so that later work queues up. Each opening lets one through.
public final class DatabaseGate: Sendable {
    private let queue = BlockingQueue<Bool>(maxCount: 1, maxBytes: 1)

    public init() {}

    public func open() throws { try queue.push(true, bytes: 1) }

    public func pass() { _ = queue.take(atMost: 1) }

    /// `pass` for a task, which must not block its thread.
    public func passed() async {
        // `pass` does not throw, so this cannot fail.
        try? await onThread { self.pass() }
    }
}

/// Runs a blocking body on a thread of its own.
public func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

extension Database {
    /// Blocks the writer of a log until the gate opens, and returns once it is blocked.
    public func close(_ gate: DatabaseGate, in log: Int = 0) async -> Task<Void, any Error> {
        await held(at: gate) { body in try await write(in: log) { _ in try body() } }
    }

    /// Blocks a reader until the gate opens, and returns once it is blocked.
    public func holdReader(at gate: DatabaseGate) async -> Task<Void, any Error> {
        await held(at: gate) { body in try await read { _ in try body() } }
    }

    private func held(
        at gate: DatabaseGate, by run: @escaping @Sendable (@escaping @Sendable () throws -> Void) async throws -> Void
    ) async -> Task<Void, any Error> {
        let arrived = DatabaseGate()
        let task = Task.immediate {
            try await run {
                try arrived.open()
                gate.pass()
            }
        }
        await arrived.passed()
        return task
    }
}

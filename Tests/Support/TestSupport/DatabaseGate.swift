import Foundation
import Storage
import Workers

/// Holds up a thread of a database, so that what comes meanwhile gathers. It lets one through for each time it is opened.
public final class DatabaseGate: Sendable {
    private let queue = BlockingQueue<Bool>(maxCount: 1, maxBytes: 1)

    public init() {}

    public func open() throws { try queue.push(true, bytes: 1) }

    public func pass() { _ = queue.take(atMost: 1) }

    /// `pass` for a task, which must not hold up the thread that it is on.
    public func passed() async {
        // It cannot fail: `pass` does not.
        try? await onThread { self.pass() }
    }
}

/// Runs what blocks, which a task must not do on the thread that it is on.
public func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

extension Database {
    /// Holds up the writer until the gate opens, and returns once it stands there.
    public func close(_ gate: DatabaseGate) async -> Task<Void, any Error> {
        await held(at: gate) { body in try await write { _ in try body() } }
    }

    /// Holds up a reader until the gate opens, and returns once it stands there.
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

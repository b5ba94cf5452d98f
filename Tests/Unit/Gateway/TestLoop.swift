import Reactor
import TestSupport

/// A loop for what lives on one, and calls on it.
struct TestLoop: Sendable {
    let loop: EventLoop

    static func run(_ test: (TestLoop) async throws -> Void) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await test(TestLoop(loop: group.loops[0])))
        } catch {
            outcome = .failure(error)
        }
        await finish(group)
        try outcome.get()
    }

    func run<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
        await withCheckedContinuation { continuation in loop.execute { continuation.resume(returning: body()) } }
    }
}

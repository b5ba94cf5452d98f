import ParlorReactor
import ParlorTestSupport

/// A loop for objects that live on one, with calls to it.
public struct TestLoop: Sendable {
    public let loop: EventLoop

    public static func run(_ test: (TestLoop) async throws -> Void) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        try await withCleanup {
            try await test(TestLoop(loop: group.loops[0]))
        } _: {
            await finish(group)
        }
    }

    public func run<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
        await withCheckedContinuation { continuation in loop.execute { continuation.resume(returning: body()) } }
    }
}

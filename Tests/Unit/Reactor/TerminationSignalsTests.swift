import Glibc
import ParlorReactor
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TerminationSignalsTests {
    @Test("a signal that arrives before anyone waits is not lost, and does not end the process")
    func wait() async throws {
        let signals = try TerminationSignals()
        kill(getpid(), SIGTERM)
        await signals.wait()
    }

    @Test("an action is called for each hangup, which does not end the process")
    func hangups() async throws {
        let (calls, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(2))
        try Hangups.handle { continuation.yield() }
        var iterator = calls.makeAsyncIterator()
        for _ in 0..<2 {
            kill(getpid(), SIGHUP)
            await iterator.next()
        }
    }
}

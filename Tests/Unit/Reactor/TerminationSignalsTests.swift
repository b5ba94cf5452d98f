import Glibc
import Reactor
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TerminationSignalsTests {
    @Test("a signal that arrives before anyone waits is not lost, and does not end the process")
    func wait() async throws {
        let signals = try TerminationSignals()
        kill(getpid(), SIGTERM)
        await signals.wait()
    }
}

import CParlorLinux
import Glibc
import Synchronization

/// SIGTERM and SIGINT, which are caught from this value's creation on, so that none is lost while a process
/// starts.
///
/// A process has one of these, as signals belong to the whole process.
public struct TerminationSignals: Sendable {
    private let pipe: Int32

    public init() throws(SystemError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else { throw .last("eventfd") }
        precondition(
            signalPipe.compareExchange(expected: -1, desired: descriptor, ordering: .sequentiallyConsistent).exchanged,
            "a process takes its termination signals once")
        pipe = descriptor
        for number in [SIGTERM, SIGINT] { signal(number, noteSignal) }
    }

    /// Returns when the first of them arrives. The next one ends the process at once, as by default: an
    /// operator who presses Ctrl-C twice means it.
    public func wait() async {
        let pipe = pipe
        await withCheckedContinuation { continuation in
            do throws(SystemError) {
                let thread = try Thread.start(name: "signals") {
                    var count: UInt64 = 0
                    while read(pipe, &count, MemoryLayout<UInt64>.size) < 0, errno == EINTR {}
                    for number in [SIGTERM, SIGINT] { signal(number, SIG_DFL) }
                    continuation.resume()
                }
                thread.detach()
            } catch {
                // Without a thread that waits, the process could not be stopped in order, so it stops now.
                continuation.resume()
            }
        }
    }
}

/// SIGHUP, on which daemons read their files again. Without this it ends the process.
public enum Hangups {
    /// Calls the action for each SIGHUP from now on, on a thread of its own. Those that arrive while the action runs
    /// are one more call. To be called once in a process.
    public static func handle(_ action: @escaping @Sendable () -> Void) throws(SystemError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else { throw .last("eventfd") }
        precondition(
            hangupPipe.compareExchange(expected: -1, desired: descriptor, ordering: .sequentiallyConsistent).exchanged,
            "a process takes its hangups once")
        try Thread.start(name: "hangups") {
            var count: UInt64 = 0
            while true {
                if read(descriptor, &count, MemoryLayout<UInt64>.size) > 0 { action() }
            }
        }.detach()
        signal(SIGHUP, noteSignal)
    }
}

/// The descriptors to which the handler writes; -1 until it is installed. Global because a signal handler can
/// capture nothing.
private let signalPipe = Atomic<Int32>(-1)
private let hangupPipe = Atomic<Int32>(-1)

/// Handles a signal with permitted calls only (signal-safety(7)): an atomic load, and write(2).
private func noteSignal(_ number: Int32) {
    let saved = errno
    var one: UInt64 = 1
    let pipe = number == SIGHUP ? hangupPipe.load(ordering: .relaxed) : signalPipe.load(ordering: .relaxed)
    _ = write(pipe, &one, MemoryLayout<UInt64>.size)
    errno = saved
}

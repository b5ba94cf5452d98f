import Glibc
import ParlorLogging
import ParlorWorkers
import Synchronization

/// Writes log lines to a descriptor on its own thread, so logging never waits for a slow reader.
///
/// A line is one write. While `maxBytes` or 16,384 lines are queued, more lines are dropped and counted.
/// After the queued ones, a line says how many were dropped.
public final class LogWriter: Sendable {
    /// The limit of queued bytes: some five thousand lines, enough to lose none while a reader pauses for a moment.
    public static let maxBytes = 1 << 20
    private static let maxLines = 16_384
    private static let linesAtOnce = 256

    /// The state shared with the thread. The thread does not hold the writer itself; otherwise the writer would never
    /// be released.
    private final class Pending: Sendable {
        let lines: BlockingQueue<[UInt8]>
        let dropped = Counter()
        let last = Mutex<[UInt8]>([])

        init(maxBytes: Int) { lines = BlockingQueue(maxCount: LogWriter.maxLines, maxBytes: maxBytes) }
    }

    private let pending: Pending
    private let thread = WorkerThreads()

    /// - Parameter noteDropped: logs the number of dropped lines to the sink that it gets, on the writing
    ///   thread.
    public init(
        _ descriptor: Int32, maxBytes: Int = LogWriter.maxBytes,
        noteDropped: @escaping @Sendable (_ count: Int, _ sink: @escaping Logger.Sink) -> Void
    ) {
        pending = Pending(maxBytes: maxBytes)
        thread.start(named: "log") { [pending] in
            Self.ignoreBrokenPipes()
            var noted = 0
            while let next = pending.lines.take(atMost: Self.linesAtOnce) {
                for line in next { Self.write(line, to: descriptor) }
                let dropped = pending.dropped.current
                guard dropped > noted, pending.lines.count == 0 else { continue }
                noteDropped(dropped - noted) { Self.write($0, to: descriptor) }
                noted = dropped
            }
            Self.write(pending.last.withLock { $0 }, to: descriptor)
        }
    }

    deinit { pending.lines.close() }

    /// The number of dropped lines.
    public var dropped: Int { pending.dropped.current }

    /// Queues a line. From any thread; never waits.
    public func write(_ line: [UInt8]) {
        do throws(BlockingQueueError) {
            try pending.lines.push(line, bytes: line.count)
        } catch {
            pending.dropped.add()
        }
    }

    /// Accepts no more lines. Returns when all are written, or after `limit` if no one reads them.
    ///
    /// - Parameter last: a line that follows all others, even while other threads log, and is not dropped
    ///   when the queue is full.
    public func close(with last: [UInt8] = [], within limit: Duration) async {
        // Set it before the thread can see that the queue is closed.
        if !last.isEmpty { pending.last.withLock { $0 = last } }
        pending.lines.close()
        _ = await result(within: limit) { [thread] in await thread.ended() }
    }

    private static func write(_ line: [UInt8], to descriptor: Int32) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process with the descriptor may have made it non-blocking.
                var descriptorEvents = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&descriptorEvents, 1, -1)
            } else if errno != EINTR {
                // If the log cannot be written, the failure cannot be reported either.
                return
            }
        }
    }

    /// Blocks SIGPIPE on this thread, so that a reader that is gone causes an error instead of a signal that
    /// ends the process.
    private static func ignoreBrokenPipes() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

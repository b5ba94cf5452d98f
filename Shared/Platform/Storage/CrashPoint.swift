import Glibc

/// The point at which a process kills itself, for `parlor-drill` and tests, which check that nothing
/// acknowledged is lost. Never set otherwise.
public struct CrashPoint: Sendable, Equatable {
    public enum Moment: String, Sendable, CaseIterable {
        /// The writes of a batch are done, and none of them is on disk.
        case beforeCommit = "before-commit"
        /// The batch is on disk, and its log entries are not published.
        case afterCommit = "after-commit"
        /// The batch's log entries are on the bus, and no caller has an answer.
        case afterPublish = "after-publish"
    }

    public let moment: Moment
    /// The number of the commit, from 1, at which the process crashes. Each database counts its own commits.
    public let count: Int

    /// Parses `MOMENT:COUNT`, such as `after-commit:37`; nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let moment = Moment(rawValue: String(parts[0])), let count = Int(parts[1]), count > 0
        else { return nil }
        self.moment = moment
        self.count = count
    }

    /// The time until published events are on the bus, in microseconds. Publishing only queues them; they are
    /// sent a turn of a loop later.
    private static let timeToPublish: UInt32 = 20_000

    /// Kills the process, like `kill -9`.
    func crash() -> Never {
        if moment == .afterPublish { usleep(Self.timeToPublish) }
        raise(SIGKILL)
        // The signal cannot be caught, and is delivered before `raise` returns.
        fatalError("SIGKILL was survived")
    }
}

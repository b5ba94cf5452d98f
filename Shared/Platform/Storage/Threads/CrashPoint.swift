import Glibc

/// The point at which a process kills itself. For the drill that proves that nothing acknowledged
/// is lost; never set otherwise.
public struct CrashPoint: Sendable, Equatable {
    public enum Moment: String, Sendable, CaseIterable {
        /// The writes of a batch are done, and nothing of them is on disk.
        case beforeCommit = "before-commit"
        /// The entries are on disk and not published.
        case afterCommit = "after-commit"
        /// Their events are on the bus, and nobody has an answer.
        case afterPublish = "after-publish"
    }

    public let moment: Moment
    /// At which commit of the process, from 1.
    public let count: Int

    /// `PLACE:COUNT`, as `after-commit:37`; nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let moment = Moment(rawValue: String(parts[0])), let count = Int(parts[1]), count > 0
        else { return nil }
        self.moment = moment
        self.count = count
    }

    /// Publishing only queues: the event's bytes are on the bus a turn of a loop later.
    private static let timeToPublish: UInt32 = 20_000

    /// As `kill -9` would.
    func crash() -> Never {
        if moment == .afterPublish { usleep(Self.timeToPublish) }
        raise(SIGKILL)
        // The signal cannot be caught, and has come before `raise` returns.
        fatalError("SIGKILL was survived")
    }
}

import Glibc
import ParlorLogging

/// Keeps processes without a common bus from using the same database: the gateway of one process
/// would never send the changes of the other.
///
/// Services on a shared bus hold the lock together; a process with its own bus holds it alone. The lock is
/// released with this object, or by the kernel when the process ends for any reason. The file stays.
final class DataLock: Sendable {
    /// The limit of the wait, longer than stopping takes: a program that restarts at once finds its
    /// predecessor still finishing.
    static let maxWait = Program.stopDeadline + .milliseconds(1500)
    private static let interval: Duration = .milliseconds(50)

    private let descriptor: Int32

    /// Waits while others hold it, at most `maxWait`, and logs that once.
    ///
    /// - Throws: `DataLockError`; `CancellationError`.
    static func acquire(
        _ database: String, alone: Bool, maxWait: Duration = DataLock.maxWait, log: Logger
    ) async throws -> DataLock {
        let lock = try DataLock("\(database).lock")
        let deadline = ContinuousClock.now + maxWait
        var isWaiting = false
        while try !lock.take(alone ? LOCK_EX : LOCK_SH, database) {
            guard ContinuousClock.now < deadline else { throw DataLockError.inUse(database) }
            if !isWaiting { log.warning("waiting for another process to release the database", ["database": database]) }
            isWaiting = true
            try await Task.sleep(for: interval)
        }
        return lock
    }

    private init(_ path: String) throws(DataLockError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .failed(path, String(cString: strerror(errno))) }
    }

    deinit { close(descriptor) }

    private func take(_ operation: Int32, _ database: String) throws(DataLockError) -> Bool {
        while flock(descriptor, operation | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return false
            default: throw .failed("\(database).lock", String(cString: strerror(errno)))
            }
        }
        return true
    }
}

/// The reason why a database cannot be used by this process. Its description is the line that the operator
/// sees.
enum DataLockError: Error, Equatable, CustomStringConvertible {
    case inUse(String)
    case failed(String, String)

    var description: String {
        switch self {
        case .inUse(let database):
            "\(database) is in use by another Parlor; stop that one, or give this one another --data"
        case .failed(let path, let reason): "\(path) cannot be locked: \(reason)"
        }
    }
}

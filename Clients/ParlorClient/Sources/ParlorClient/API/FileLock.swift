import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A lock between the processes of one app, on a file. The system releases it when the process ends.
struct FileLock: Sendable {
    /// The limit of the wait. A process holds the lock while it reads and writes one small file, which takes
    /// milliseconds.
    private static let maxWait: Duration = .seconds(2)

    let url: URL

    /// Runs the body with the lock.
    ///
    /// The wait for the lock blocks the calling thread, for at most two seconds. It polls, so it does not depend on any
    /// other thread of this process. The body must not wait for anything but files: Apple's systems kill a process that
    /// is suspended while it has a file of an app group locked. The lock is not recursive.
    ///
    /// - Throws: the file system's error, also if the lock is not free in time; errors of the body.
    func withLock<Value>(_ body: () throws -> Value) throws -> Value {
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        let descriptor = open(url.path(percentEncoded: false), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path]) }
        // This also releases the lock.
        defer { close(descriptor) }
        // `flock` without LOCK_NB has no time limit.
        let end = ContinuousClock.now + Self.maxWait
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < end else {
                throw CocoaError(.fileLocking, userInfo: [NSFilePathErrorKey: url.path])
            }
            usleep(1_000)
        }
        return try body()
    }
}

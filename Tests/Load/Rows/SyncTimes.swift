import Glibc
import ParlorReactor
import TestClients

/// The disk's own time to sync a page: `pwrite` of 4 KiB and `fdatasync` in a file of constant
/// size, which is how a database writes its log once that has grown. No write can be acknowledged
/// sooner.
final class SyncTimes {
    private(set) var latencies = Latencies()

    private static let page = [UInt8](repeating: 0x5A, count: 4096)
    private static let pages = 256

    private let descriptor: Int32
    private var next = 0

    /// Creates an unnamed file in the folder, which is removed with its descriptor.
    init(in folder: String) throws(ClientError) {
        var path = Array("\(folder)/bench-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw ClientError("no file can be made in \(folder)") }
        unlink(path)
        for _ in 0..<Self.pages { try write() }
        guard fsync(descriptor) == 0 else { throw ClientError("fsync fails in \(folder)") }
    }

    deinit { close(descriptor) }

    /// Measures, and blocks its loop: nothing else may be running.
    func measure(times: Int) throws(ClientError) {
        for _ in 0..<times {
            let start = LoopInstant.now()
            try write()
            guard fdatasync(descriptor) == 0 else { throw ClientError("fdatasync fails") }
            latencies.record(since: start)
        }
    }

    private func write() throws(ClientError) {
        let offset = off_t(next % Self.pages * Self.page.count)
        next += 1
        guard pwrite(descriptor, Self.page, Self.page.count, offset) == Self.page.count else {
            throw ClientError("a page cannot be written")
        }
    }
}

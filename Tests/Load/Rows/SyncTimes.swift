import Glibc
import Reactor
import TestClients

/// What the disk itself takes to make a page safe: `pwrite` of 4 KiB and `fdatasync`, in a file that has its size, which
/// is how a database's log is written once it has grown. No write can be acknowledged sooner.
final class SyncTimes {
    private(set) var latencies = Latencies()

    private static let page = [UInt8](repeating: 0x5A, count: 4096)
    private static let pages = 256

    private let descriptor: Int32
    private var next = 0

    /// Makes a file without a name in the folder: it goes with the descriptor.
    init(in folder: String) throws(ClientError) {
        var path = Array("\(folder)/bench-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw ClientError("no file can be made in \(folder)") }
        unlink(path)
        for _ in 0..<Self.pages { try write() }
        guard fsync(descriptor) == 0 else { throw ClientError("fsync fails in \(folder)") }
    }

    deinit { close(descriptor) }

    /// Blocks its loop: nothing else may be going on.
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
            throw ClientError("the disk takes no page")
        }
    }
}

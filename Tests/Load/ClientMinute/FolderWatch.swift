import Glibc
import ParlorWorkers
import Synchronization

/// Counts what a program writes into a folder and the folders in it (inotify(7)), for the rest of the process.
///
/// A file that is written and then renamed counts with its size, each time. A file that is appended to counts each time
/// it is closed, with the bytes it has grown by. Bytes that are replaced twice before this thread looks count once.
final class FolderWatch: Sendable {
    struct Writes: Sendable {
        var files = 0
        var bytes = 0
    }

    /// What the thread shares with its owner, so that the thread does not keep the owner itself.
    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private struct State {
        var writes = Writes()
        /// The folders, by their watch.
        var folders: [Int32: String] = [:]
        /// The last size of each file.
        var sizes: [String: Int] = [:]
    }

    private static let events = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_CREATE)
    /// The end of a draft's name; it is renamed when it is complete.
    private static let draft = ".new"

    private let descriptor: Int32
    private let shared = Shared()
    private let thread = WorkerThreads()

    var writes: Writes { shared.state.withLock { $0.writes } }

    init(_ folder: String) {
        descriptor = inotify_init1(Int32(IN_CLOEXEC))
        watch(folder)
        thread.start(named: "folder-watch") { [descriptor, shared] in Self.read(descriptor, into: shared) }
    }

    private func watch(_ folder: String) { shared.state.withLock { Self.watch(folder, on: descriptor, &$0) } }

    private static func watch(_ folder: String, on descriptor: Int32, _ state: inout State) {
        state.folders[inotify_add_watch(descriptor, folder, events)] = folder
    }

    private static func read(_ descriptor: Int32, into shared: Shared) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return }
            buffer.withUnsafeBytes { bytes in
                var offset = 0
                while offset < count {
                    let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    let start = offset + MemoryLayout<inotify_event>.size
                    let name = String(decoding: bytes[start..<start + Int(event.len)].prefix { $0 != 0 }, as: UTF8.self)
                    shared.state.withLock { note(event, name, descriptor, &$0) }
                    offset = start + Int(event.len)
                }
            }
        }
    }

    private static func note(_ event: inotify_event, _ name: String, _ descriptor: Int32, _ state: inout State) {
        guard let folder = state.folders[event.wd] else { return }
        let path = "\(folder)/\(name)"
        let mask = event.mask
        if mask & UInt32(IN_ISDIR) != 0 {
            if mask & UInt32(IN_CREATE) != 0 { watch(path, on: descriptor, &state) }
        } else if mask & UInt32(IN_DELETE) != 0 {
            state.sizes[path] = nil
        } else if mask & UInt32(IN_MOVED_TO) != 0 {
            let size = size(of: path)
            state.sizes[path] = size
            // An empty file is made to be appended to.
            guard size > 0 else { return }
            state.writes.files += 1
            state.writes.bytes += size
        } else if mask & UInt32(IN_CLOSE_WRITE) != 0, !name.hasSuffix(draft) {
            let size = size(of: path)
            let growth = size - (state.sizes.updateValue(size, forKey: path) ?? 0)
            guard growth > 0 else { return }
            state.writes.files += 1
            state.writes.bytes += growth
        }
    }

    private static func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}

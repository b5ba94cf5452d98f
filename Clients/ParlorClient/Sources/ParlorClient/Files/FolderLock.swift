import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A lock on a folder. Of all objects in all processes, one has it, until ``end()``, its release or the end of its
/// process.
package final class FolderLock: Sendable {
    private enum State {
        case free, ended
        case held(Int32)
    }

    static let inUse = ClientFailure.refused(
        Refusal(code: "in_use", message: "This account is already open on this device."))

    private let url: URL
    private let state = Guarded(State.free)

    package init(_ url: URL) { self.url = url }

    /// Takes the lock, if this object does not have it and there is such a folder. Never waits.
    ///
    /// - Returns: false if another object has the lock, or after ``end()``.
    package func take() -> Bool {
        state.withLock { [url] state in
            switch state {
            case .held: return true
            case .ended: return false
            case .free: break
            }
            let descriptor = open(url.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
            // Without a folder there is nothing to lock. Any other error may hide another's lock.
            guard descriptor >= 0 else { return errno == ENOENT || errno == ENOTDIR }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                state = .held(descriptor)
                return true
            }
            let isTaken = errno == EWOULDBLOCK
            close(descriptor)
            return !isTaken
        }
    }

    var hasEnded: Bool {
        state.withLock { if case .ended = $0 { true } else { false } }
    }

    /// Releases the lock for good.
    func end() {
        state.withLock { state in
            if case .held(let descriptor) = state { close(descriptor) }
            state = .ended
        }
    }

    deinit { end() }
}

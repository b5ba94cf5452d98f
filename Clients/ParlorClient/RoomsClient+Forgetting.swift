import Foundation

extension RoomsClient {
    /// The outcome of going to the background.
    public enum BackgroundResult: Equatable, Sendable {
        /// All messages and board changes are sent, and everything else is stored.
        case settled
        /// The time ran out with this many messages and board changes unsent. They are on disk, unless it failed.
        case outOfTime(unsent: Int)
        /// This many messages and board changes are unsent, for another reason: the client is stopped, the
        /// server refuses them, or the disk fails. Those that cannot be read now are not counted.
        case waiting(unsent: Int)
        /// The app came back or was stopped meanwhile.
        case overtaken
    }

    /// Returns the number of messages and changes of boards that the server does not have: those that ``signOut()`` would discard.
    ///
    /// Changes of boards from an earlier time count once the client was started.
    ///
    /// - Throws: the file system's error, if messages cannot be counted now.
    public func unsentCount() async throws -> Int {
        Self.unsentCount(messages: try await outbox.unsentCount(), boards: boards.values)
    }

    private static func unsentCount(messages: Int, boards: some Sequence<Board>) -> Int {
        boards.reduce(messages) { $0 + $1.unsentCount }
    }

    func backgroundResult(of boards: [Board], isOutOfTime: Bool) async -> BackgroundResult {
        // nil if some cannot be read now.
        let messages = try? await outbox.unsentCount()
        let unsent = Self.unsentCount(messages: messages ?? 0, boards: boards)
        if isOutOfTime { return .outOfTime(unsent: unsent) }
        return messages != nil && unsent == 0 ? .settled : .waiting(unsent: unsent)
    }

    private var mark: SignOutMark { SignOutMark(in: folder) }

    var isToBeForgotten: Bool { mark.isSet }

    func noteToBeForgotten() {
        // Without a folder there is nothing to delete. Without the mark the sign-out still deletes
        // everything, unless the app ends first.
        try? mark.set()
    }

    func removeMark() throws {
        if isToBeForgotten { try removeFile(mark.url) }
    }

    /// Finishes a sign-out that was interrupted: deletes all that can be deleted.
    ///
    /// - Throws: the file system's first error. What is left must not be shown or sent; the next start tries
    ///   again.
    func forgetAll() throws {
        let removals = ["outbox", "cache", "rooms", "boards"].map { name in
            let url = folder.appending(path: name)
            return Result { if FileManager.default.fileExists(atPath: url.path) { try removeFile(url) } }
        }
        for removal in removals { try removal.get() }
        try removeMark()
    }
}

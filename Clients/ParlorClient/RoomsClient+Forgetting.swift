import Foundation

extension RoomsClient {
    /// The result of ``RoomsClient/enterBackground(within:)``.
    public enum BackgroundResult: Equatable, Sendable {
        /// The server has all messages and board changes. Read receipts do not count: they may have failed.
        case settled
        /// The time ran out, or the calling task was cancelled. This many messages and board changes are not sent
        /// yet. They are on disk, unless writing them failed or has not finished.
        case outOfTime(unsent: Int)
        /// This many messages and board changes are not sent yet, though there was time: the client is stopped, the
        /// server refuses them, or the disk fails. Those that cannot be read from disk now are not counted.
        case waiting(unsent: Int)
        /// A later call, such as ``RoomsClient/enterForeground()`` or ``RoomsClient/stop()``, replaced this one.
        case overtaken
    }

    /// Returns the number of messages and board changes that the server does not have.
    ///
    /// ``signOut()`` would discard them. Board changes of an earlier run count once the started client has read them.
    ///
    /// - Throws: the file system's error, or the refusal `not_forgotten`, if messages cannot be counted now.
    public func unsentCount() async throws -> Int {
        Self.unsentCount(messages: try await outbox.unsentCount(), boards: boards.values)
    }

    private static func unsentCount(messages: Int, boards: some Sequence<Board>) -> Int {
        boards.reduce(messages) { $0 + $1.unsentCount }
    }

    func backgroundResult(of boards: [Board], isOutOfTime: Bool) async -> BackgroundResult {
        // nil if the stored messages cannot be counted now.
        let messages = try? await outbox.unsentCount()
        let unsent = Self.unsentCount(messages: messages ?? 0, boards: boards)
        if isOutOfTime { return .outOfTime(unsent: unsent) }
        return messages != nil && unsent == 0 ? .settled : .waiting(unsent: unsent)
    }

    private var mark: SignOutMark { SignOutMark(in: folder) }

    var isToBeForgotten: Bool { mark.isSet }

    func noteToBeForgotten() {
        // An error is ignored. If the folder does not exist, there is nothing to delete. Otherwise the sign-out
        // still deletes everything, unless the app ends first.
        try? mark.set()
    }

    func removeMark() throws {
        if isToBeForgotten { try removeFile(mark.url) }
    }

    /// Completes an interrupted sign-out: deletes all data of the person, as far as possible.
    ///
    /// - Throws: the file system's first error, after it has tried everything. The mark then stays. So nothing of
    ///   the remaining data is shown or sent, and the next start tries again.
    func forgetAll() throws {
        let removals = ["outbox", "cache", "rooms", "boards"].map { name in
            let url = folder.appending(path: name)
            return Result { if FileManager.default.fileExists(atPath: url.path) { try removeFile(url) } }
        }
        for removal in removals { try removal.get() }
        try removeMark()
    }
}

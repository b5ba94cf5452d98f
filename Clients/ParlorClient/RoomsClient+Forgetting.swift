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

    /// A file that exists from the beginning of a sign-out to its end: the app may end in between.
    private var mark: URL { folder.appending(path: "signed-out") }

    var isToBeForgotten: Bool { FileManager.default.fileExists(atPath: mark.path) }

    func noteToBeForgotten() {
        // Without a folder there is nothing to delete. Without the mark the sign-out still deletes
        // everything, unless the app ends first.
        try? Data().write(to: mark)
    }

    func removeMark() throws {
        if isToBeForgotten { try removeFile(mark) }
    }

    /// Finishes a sign-out that was interrupted.
    ///
    /// - Throws: the file system's error. What is left must not be shown or sent; the next start tries again.
    func forgetAll() throws {
        for name in ["outbox", "cache", "rooms", "boards"] {
            let url = folder.appending(path: name)
            guard FileManager.default.fileExists(atPath: url.path) else { continue }
            try removeFile(url)
        }
        try removeMark()
    }

    /// The failure of a start that finds what an interrupted sign-out has left, and cannot delete it.
    static func notForgotten(_ error: any Error) -> ClientFailure {
        .refused(
            Refusal(
                code: "not_forgotten",
                message: "What is left of an earlier session cannot be deleted: \(error.localizedDescription)"))
    }
}

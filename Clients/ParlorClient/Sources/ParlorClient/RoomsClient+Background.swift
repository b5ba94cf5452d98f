extension RoomsClient {
    /// The result of ``RoomsClient/enterBackground(within:)``.
    public enum BackgroundResult: Equatable, Sendable {
        /// The server has all messages, board changes and read receipts.
        case settled
        /// The time ran out, or the calling task was cancelled. This many messages, board changes and receipts are not sent
        /// yet; nil if they cannot be counted now. They are on disk, unless writing them failed or has not finished.
        case outOfTime(unsent: Int?)
        /// This many messages, board changes and receipts are not sent yet, though there was time: the client is stopped,
        /// the server refuses them, an edit is in conflict, or the disk fails. It is nil if they cannot be counted now.
        case waiting(unsent: Int?)
        /// A later call, such as ``RoomsClient/enterForeground()`` or ``RoomsClient/stop()``, replaced this one.
        case overtaken
    }

    /// Returns the number of messages and board changes that the server does not have, including edits in conflict.
    ///
    /// ``ParlorAccount/signOut()`` discards them. Those of an earlier run count too, also before ``start()``. The call
    /// does not start to send them.
    ///
    /// - Throws: the file system's error, or the refusals `not_forgotten` and `in_use`, if they cannot be counted now.
    public func unsentCount() async throws -> Int { try await local.unsentCount() }

    func backgroundResult(isOutOfTime: Bool) async -> BackgroundResult {
        let unsent = await local.unsentCountWithReceipts()
        if isOutOfTime { return .outOfTime(unsent: unsent) }
        return unsent == 0 ? .settled : .waiting(unsent: unsent)
    }
}

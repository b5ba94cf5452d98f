import Foundation

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
    /// - Throws: the file system's error, or the refusal `not_forgotten`, if they cannot be counted now.
    public func unsentCount() async throws -> Int {
        let messages = try await outbox.unsentCount()
        // The changes of a board that has not read its file yet are in the file.
        let restored = Set(boards.filter(\.value.isRestored).keys)
        let stored = try await boardFiles.unsentCounts(besides: restored)
        // A board may have read its file meanwhile.
        return stored.reduce(messages) { $0 + (boards[$1.key]?.isRestored == true ? 0 : $1.value) }
            + boards.values.reduce(0) { $0 + $1.unsentCount + $1.conflicts.count }
    }

    func backgroundResult(isOutOfTime: Bool) async -> BackgroundResult {
        // Nil, not zero: something may wait that cannot be read.
        let receipts = await backing.receipts.unsentCount()
        let changes = try? await unsentCount()
        let unsent = changes.flatMap { changes in receipts.map { changes + $0 } }
        if isOutOfTime { return .outOfTime(unsent: unsent) }
        return unsent == 0 ? .settled : .waiting(unsent: unsent)
    }

    /// Keeps the person's texts out of backups. Until the device is unlocked after a restart, nobody can read them.
    func protectFolder() {
        #if canImport(Darwin)
            // `try?`: without protection the texts are still of use, and the next start tries again.
            try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var excluded = folder
            try? excluded.setResourceValues(values)
            // New files take this over from their folder. A stricter protection would keep a locked device from
            // sending.
            try? FileManager.default.setAttributes(
                [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: folder.path)
        #endif
    }

    private var mark: SignOutMark { SignOutMark(in: folder) }

    var isToBeForgotten: Bool { mark.isSet }

    func noteToBeForgotten() {
        // An error is ignored. If the folder does not exist, there is nothing to delete. Otherwise the sign-out
        // still deletes everything, unless the app ends first.
        try? mark.set()
    }

    func removeMark() throws {
        FileSteps.note()
        if isToBeForgotten { try removeFile(mark.url) }
    }

    /// Completes an interrupted sign-out: deletes all data of the person, as far as possible.
    ///
    /// - Throws: the file system's first error, after it has tried everything. The mark then stays. So nothing of
    ///   the remaining data is shown or sent, and the next start tries again.
    func forgetAll() throws { try Self.forgetAll(in: folder, removeFile) }

    /// Completes sign-outs that were interrupted or have failed: deletes the data of everybody whose sign-out began.
    ///
    /// A sign-out ends the session before it deletes the data. If the app ends in between, nobody is signed in at the
    /// next launch, so no client starts in that folder. Call this at each launch and before each sign-in, while there
    /// is no client.
    ///
    /// - Parameter folder: the parent folder of all persons' folders.
    /// - Throws: the file system's first error, after it has tried everything. The next call tries again, and so does
    ///   the start of a client in such a folder.
    package static func forgetSignedOut(in folder: URL) throws {
        // Before the first sign-in there is no folder.
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        let folders = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let removals = folders.filter { SignOutMark(in: $0).isSet }.map { folder in
            Result { try forgetAll(in: folder) { try FileManager.default.removeItem(at: $0) } }
        }
        for removal in removals { try removal.get() }
    }

    private static func forgetAll(in folder: URL, _ removeFile: (URL) throws -> Void) throws {
        let removals = ["outbox", "cache", "rooms", "boards", "receipts", "drafts"].map { name in
            let url = folder.appending(path: name)
            return Result { if FileManager.default.fileExists(atPath: url.path) { try removeFile(url) } }
        }
        for removal in removals { try removal.get() }
        let mark = SignOutMark(in: folder)
        if mark.isSet { try removeFile(mark.url) }
    }
}

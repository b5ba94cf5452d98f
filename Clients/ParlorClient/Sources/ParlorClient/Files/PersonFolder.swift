import Foundation

/// All that one person has on this device: a folder with a folder for each kind of data.
package struct PersonFolder {
    /// The names of the folders.
    enum Part: String, CaseIterable {
        case outbox, cache, rooms, boards, receipts, drafts
    }

    let url: URL
    let lock: FolderLock
    /// Deletes a file or a folder. Tests replace it.
    package var removeFile: (URL) throws -> Void = RoomFiles.removeItem
    private var mark: SignOutMark { SignOutMark(in: url) }

    init(_ url: URL) {
        self.url = url
        lock = FolderLock(url)
    }

    func files(_ part: Part, log: ClientLog) -> RoomFiles {
        RoomFiles(
            folder: url.appending(path: part.rawValue, directoryHint: .isDirectory), mark: mark, lock: lock, log: log)
    }

    /// Takes the folder for its client.
    ///
    /// - Throws: the refusal `in_use` if another client has it for two more seconds: one that was just released still
    ///   writes.
    func take() async throws(ClientFailure) {
        // `try?`: where there can be no folder, no file can be written either.
        try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let end = ContinuousClock.now + .seconds(2)
        while !lock.take() {
            guard ContinuousClock.now < end, !Task.isCancelled else { throw FolderLock.inUse }
            try? await Task.sleep(for: .milliseconds(5))  // a cancellation ends the loop
        }
    }

    /// Takes the folder, and completes an interrupted sign-out.
    ///
    /// - Throws: the refusal `in_use` or `not_forgotten`.
    func open() async throws(ClientFailure) {
        try await take()
        guard isToBeForgotten else { return }
        do { try forgetAll() } catch { throw SignOutMark.notForgotten(error.localizedDescription) }
    }

    /// Keeps the person's texts out of backups. Until the device is unlocked after a restart, nobody can read them.
    func protect() {
        #if canImport(Darwin)
            // `try?`: without protection the texts are still of use, and the next start tries again.
            try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var excluded = url
            try? excluded.setResourceValues(values)
            // New files take this over from their folder. A stricter protection would keep a locked device from
            // sending.
            try? FileManager.default.setAttributes(
                [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: url.path)
        #endif
    }

    // MARK: Signing out

    var isToBeForgotten: Bool { mark.isSet }

    func noteToBeForgotten() {
        // An error is ignored. If the folder does not exist, there is nothing to delete. Otherwise the sign-out
        // still deletes everything, unless the app ends first.
        try? mark.set()
    }

    /// Notes that everything is deleted.
    func removeMark() throws {
        FileSteps.note()
        if isToBeForgotten { try removeFile(mark.url) }
    }

    /// Completes an interrupted sign-out: deletes all data of the person, as far as possible.
    ///
    /// - Throws: the file system's first error, after it has tried everything. The mark then stays. So nothing of
    ///   the remaining data is shown or sent, and the next start tries again.
    func forgetAll() throws {
        let removals = Part.allCases.map { part in
            let url = url.appending(path: part.rawValue)
            return Result { if FileManager.default.fileExists(atPath: url.path) { try removeFile(url) } }
        }
        for removal in removals { try removal.get() }
        if isToBeForgotten { try removeFile(mark.url) }
    }

    /// Completes sign-outs that were interrupted or have failed: deletes the data of everybody whose sign-out began.
    ///
    /// A sign-out ends the session before it deletes the data. If the app ends in between, nobody is signed in at the
    /// next launch, so no client starts in that folder. Call this at each launch and before each sign-in, while there
    /// is no client.
    ///
    /// - Parameter parent: the parent folder of all persons' folders.
    /// - Throws: the file system's first error, after it has tried everything. The next call tries again, and so does
    ///   the start of a client in such a folder.
    package static func forgetSignedOut(in parent: URL) throws {
        // Before the first sign-in there is no folder.
        guard FileManager.default.fileExists(atPath: parent.path) else { return }
        let folders = try FileManager.default.contentsOfDirectory(at: parent, includingPropertiesForKeys: nil)
            .map(PersonFolder.init)
        // The client that still has a folder writes nothing into it. The next call deletes it.
        let removals = folders.filter { $0.isToBeForgotten && $0.lock.take() }
            .map { folder in Result { try folder.forgetAll() } }
        for removal in removals { try removal.get() }
    }
}

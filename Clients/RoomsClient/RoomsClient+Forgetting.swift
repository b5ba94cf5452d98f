import Foundation

extension RoomsClient {
    /// How an app's way to the background ended.
    public enum BackgroundResult: Equatable, Sendable {
        /// Every message and every change of a board is sent, and what has to be kept is kept.
        case settled
        /// There was no more time. So many messages and changes of boards wait for the next time; they are on disk.
        case outOfTime(unsent: Int)
        /// So many messages and changes of boards wait for something else than time: for a start, after a stop; for their person, where
        /// the server refuses them; or for the disk. Those that cannot be read now are not counted.
        case waiting(unsent: Int)
        /// The app came back, or was stopped, meanwhile.
        case overtaken
    }

    func backgroundResult(of boards: [Board], isOutOfTime: Bool) async -> BackgroundResult {
        // nil: there are some that cannot be read now.
        let messages = try? await outbox.unsentCount()
        let unsent = boards.reduce(messages ?? 0) { $0 + $1.unsentCount }
        if isOutOfTime { return .outOfTime(unsent: unsent) }
        return messages != nil && unsent == 0 ? .settled : .waiting(unsent: unsent)
    }

    /// Stands in the folder from the beginning of a sign-out to its end: an app may end in between.
    private var mark: URL { folder.appending(path: "signed-out") }

    var isToBeForgotten: Bool { FileManager.default.fileExists(atPath: mark.path) }

    func noteToBeForgotten() {
        // Without a folder there is nothing to forget. Without a mark the sign-out still removes everything, unless the app ends first.
        try? Data().write(to: mark)
    }

    func removeMark() throws {
        if isToBeForgotten { try FileManager.default.removeItem(at: mark) }
    }

    /// Finishes a sign-out that was cut short.
    func forgetAll() async {
        do {
            for name in ["outbox", "cache", "rooms", "boards"] {
                let url = folder.appending(path: name)
                guard FileManager.default.fileExists(atPath: url.path) else { continue }
                try FileManager.default.removeItem(at: url)
            }
            try removeMark()
        } catch {
            // The next start tries again.
        }
    }
}

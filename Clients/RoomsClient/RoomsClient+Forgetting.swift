import Foundation

extension RoomsClient {
    /// How an app's way to the background ended.
    public enum BackgroundResult: Equatable, Sendable {
        /// Everything is sent and kept.
        case settled
        /// There was no more time. So many messages wait for the next time; they are on disk.
        case outOfTime(unsent: Int)
        /// The app came back, or was stopped, meanwhile.
        case overtaken
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

import UIKit

/// A background task. It gives the app about thirty seconds to send messages and store the session before the system
/// suspends it.
@MainActor
final class BackgroundTime {
    private var identifier = UIBackgroundTaskIdentifier.invalid

    init() {
        // When the time is over, the system kills an app that does not end its task.
        identifier = UIApplication.shared.beginBackgroundTask { [weak self] in self?.end() }
    }

    func end() {
        guard identifier != .invalid else { return }
        UIApplication.shared.endBackgroundTask(identifier)
        identifier = .invalid
    }
}

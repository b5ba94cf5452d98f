import UIKit

/// A background task: about thirty seconds in which the app sends messages and stores the session before it is suspended.
@MainActor
final class BackgroundTime {
    private var identifier = UIBackgroundTaskIdentifier.invalid

    init() {
        // The system kills an app that does not end its task here.
        identifier = UIApplication.shared.beginBackgroundTask { [weak self] in self?.end() }
    }

    func end() {
        guard identifier != .invalid else { return }
        UIApplication.shared.endBackgroundTask(identifier)
        identifier = .invalid
    }
}

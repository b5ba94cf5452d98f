import UIKit

/// Time from the system, about thirty seconds, in which messages are sent and the session is stored before the app is suspended.
@MainActor
final class BackgroundTime {
    private var identifier = UIBackgroundTaskIdentifier.invalid

    init() {
        // An app that has not ended its task when this is called is killed.
        identifier = UIApplication.shared.beginBackgroundTask { [weak self] in self?.end() }
    }

    func end() {
        guard identifier != .invalid else { return }
        UIApplication.shared.endBackgroundTask(identifier)
        identifier = .invalid
    }
}

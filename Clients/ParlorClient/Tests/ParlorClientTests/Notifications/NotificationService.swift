import Foundation
import ParlorClient

#if canImport(UserNotifications)
    import UserNotifications
#endif

// The code of two blocks in ParlorClient.docc/Notifications.md. `NotificationServiceTests` checks that they are the
// same, and runs this code.

nonisolated func sharedPlace() -> SessionPlace {
    // This is nil if the target does not have the app group.
    let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.com.example.chat")!
    return .keychain(accessGroup: "ABCDE12345.com.example.chat", lock: group.appending(path: "session.lock"))
}

nonisolated final class NotificationService: UNNotificationServiceExtension {
    private static let loader = NotificationLoader(
        server: URL(string: "https://parlor.example")!, sessionIn: sharedPlace())

    override func didReceive(
        _ request: UNNotificationRequest, withContentHandler show: @escaping (UNNotificationContent) -> Void
    ) {
        guard let pushed = PushedMessage(userInfo: request.content.userInfo),
            let content = request.content.mutableCopy() as? UNMutableNotificationContent
        else { return show(request.content) }
        // From here on, only the task uses them.
        nonisolated(unsafe) let (show, shown) = (show, content)
        Task {
            let loaded = await Self.loader.content(of: pushed)
            if let title = loaded.title { shown.title = title }
            if let body = loaded.body { shown.body = body }
            if let badge = loaded.badge { shown.badge = NSNumber(value: badge) }
            show(shown)
        }
    }
}

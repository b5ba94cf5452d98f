import ParlorClient
import UIKit
import UserNotifications

/// Receives the device token, and taps on notifications. The system gives the token only to the app's delegate. It
/// gives taps to the delegate of the notification center, which has to be set before the launch ends.
final class AppDelegate: NSObject, UIApplicationDelegate, UNUserNotificationCenterDelegate {
    let account = ParlorAccount(server: Server.address, clearNotifications: AppDelegate.clearNotifications)

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        UNUserNotificationCenter.current().delegate = self
        return true
    }

    /// Asks for permission the first time, and requests the device token each time.
    func askForNotifications() async {
        // Without permission, the device is not registered.
        let center = UNUserNotificationCenter.current()
        guard (try? await center.requestAuthorization(options: [.alert, .badge, .sound])) == true else { return }
        UIApplication.shared.registerForRemoteNotifications()
    }

    func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {
        #if DEBUG
            account.registerDevice(deviceToken, environment: .sandbox)
        #else
            account.registerDevice(deviceToken, environment: .production)
        #endif
    }

    private static func clearNotifications() async {
        let center = UNUserNotificationCenter.current()
        center.removeAllDeliveredNotifications()
        // `try?`: this throws if the person has not allowed badges.
        try? await center.setBadgeCount(0)
    }

    nonisolated func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
    ) {
        if let pushed = PushedMessage(userInfo: response.notification.request.content.userInfo) {
            Task { @MainActor in account.open(pushed) }
        }
        completionHandler()
    }
}

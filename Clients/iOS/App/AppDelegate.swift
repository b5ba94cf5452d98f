import ParlorClient
import UIKit
import UserNotifications

/// Receives the device token, and what people do with notifications. The system gives the token only to the app's delegate. It
/// gives the rest to the delegate of the notification center, which has to be set before the launch ends.
final class AppDelegate: NSObject, UIApplicationDelegate, UNUserNotificationCenterDelegate {
    let account = ParlorAccount(server: Server.address, clearNotifications: AppDelegate.clearNotifications)
    let notifications = RoomNotifications()

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        UNUserNotificationCenter.current().delegate = self
        RoomNotifications.register()
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
            let reply = RoomNotifications.reply(in: response)
            // The system calls its delegate on the main thread.
            MainActor.assumeIsolated {
                if let reply { send(reply, in: pushed.roomID) } else { account.open(pushed) }
            }
        }
        completionHandler()
    }

    nonisolated func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    ) {
        let roomID = PushedMessage(userInfo: notification.request.content.userInfo)?.roomID
        completionHandler(MainActor.assumeIsolated { notifications.presentation(of: roomID) })
    }

    /// Sends a reply that was written in a notification. The app may have been launched for it, in the background.
    private func send(_ reply: String, in roomID: Room.ID) {
        // The system may suspend the app as soon as its delegate has returned, so ask for time before that.
        let time = BackgroundTime()
        Task {
            // The text is on the device before anything waits for the network.
            if account.client == nil { await account.enterForeground() }
            do {
                guard let client = account.client else { throw ClientFailure.signedOut }
                try await client.reply(reply, in: roomID)
            } catch {
                await RoomNotifications.showUnsent(reply, in: roomID, because: error.sentence)
            }
            await account.client?.start()
            if UIApplication.shared.applicationState == .background {
                await account.enterBackground(within: .seconds(15))
            }
            time.end()
        }
    }
}

import Observation
import ParlorClient
import UserNotifications

/// The system's notifications of messages. `ChatScreen` says which room is in view: its notifications are removed, and
/// new ones are not shown.
@MainActor @Observable
final class RoomNotifications {
    /// The identifier that the server sends (`PUSH_CATEGORY`).
    nonisolated private static let category = "message"
    nonisolated private static let replyAction = "reply"

    @ObservationIgnored private var roomInView: Room.ID?

    /// Adds the field for a reply to notifications. Call it before the launch ends.
    static func register() {
        let reply = UNTextInputNotificationAction(
            identifier: replyAction, title: NSLocalizedString("Reply", comment: ""), options: [.authenticationRequired],
            textInputButtonTitle: NSLocalizedString("Send", comment: ""),
            textInputPlaceholder: NSLocalizedString("Message", comment: ""))
        UNUserNotificationCenter.current().setNotificationCategories([
            UNNotificationCategory(identifier: category, actions: [reply], intentIdentifiers: [], options: [])
        ])
    }

    func noteShown(_ roomID: Room.ID) {
        roomInView = roomID
        Self.removeDelivered(of: roomID)
    }

    func noteHidden(_ roomID: Room.ID) { if roomInView == roomID { roomInView = nil } }

    /// Returns how a notification is shown while the app is open.
    func presentation(of roomID: Room.ID?) -> UNNotificationPresentationOptions {
        roomID != nil && roomID == roomInView ? [] : [.banner, .list, .sound]
    }

    /// Returns the text that was written in the field of a notification; nil if it was tapped.
    nonisolated static func reply(in response: UNNotificationResponse) -> String? {
        response.actionIdentifier == replyAction ? (response as? UNTextInputNotificationResponse)?.userText : nil
    }

    /// Says that a reply is not sent. A tap on this opens the room.
    nonisolated static func showUnsent(_ reply: String, in roomID: Room.ID, because reason: String) async {
        let content = UNMutableNotificationContent()
        content.title = reason
        content.body = reply
        content.threadIdentifier = roomID
        content.userInfo = ["roomId": roomID, "messageId": "unsent"]
        // `try?`: the person has not allowed notifications, and so has not replied to one.
        try? await UNUserNotificationCenter.current().add(
            UNNotificationRequest(identifier: UUID().uuidString, content: content, trigger: nil))
    }

    nonisolated private static func removeDelivered(of roomID: Room.ID) {
        // The handler runs on a thread of the system.
        UNUserNotificationCenter.current().getDeliveredNotifications { notifications in
            let requests = notifications.map(\.request)
            let ofRoom = requests.filter { PushedMessage(userInfo: $0.content.userInfo)?.roomID == roomID }
            UNUserNotificationCenter.current().removeDeliveredNotifications(withIdentifiers: ofRoom.map(\.identifier))
        }
    }
}

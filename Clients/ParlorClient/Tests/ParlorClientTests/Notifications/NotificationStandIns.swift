#if !canImport(UserNotifications)
    import Foundation
    import ParlorClient
    import ParlorClientTesting

    // The parts of Apple's frameworks that the guide's extension uses, with the same declarations.

    class UNNotificationServiceExtension: NSObject {
        func didReceive(
            _ request: UNNotificationRequest,
            withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
        ) {}
    }

    class UNNotificationRequest: NSObject {
        let content: UNNotificationContent

        init(content: UNNotificationContent) { self.content = content }
    }

    class UNNotificationContent: NSObject {
        fileprivate(set) var title = ""
        fileprivate(set) var body = ""
        fileprivate(set) var badge: NSNumber?
        fileprivate(set) var userInfo: [AnyHashable: Any] = [:]

        override func mutableCopy() -> Any {
            let copy = UNMutableNotificationContent()
            (copy.title, copy.body, copy.badge, copy.userInfo) = (title, body, badge, userInfo)
            return copy
        }
    }

    final class UNMutableNotificationContent: UNNotificationContent {
        override var title: String {
            get { super.title }
            set { super.title = newValue }
        }
        override var body: String {
            get { super.body }
            set { super.body = newValue }
        }
        override var badge: NSNumber? {
            get { super.badge }
            set { super.badge = newValue }
        }
        override var userInfo: [AnyHashable: Any] {
            get { super.userInfo }
            set { super.userInfo = newValue }
        }
    }

    extension SessionPlace {
        /// A keychain in which nobody is signed in.
        static func keychain(accessGroup: String?, lock: URL?) -> SessionPlace {
            SessionPlace { _ in MemorySessionStore() }
        }
    }

    extension FileManager {
        func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { temporaryDirectory }
    }
#endif

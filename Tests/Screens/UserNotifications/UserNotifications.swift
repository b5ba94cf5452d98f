// What the screens use of Apple's UserNotifications: its signatures, and nothing behind them.
@_exported import Foundation

public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let badge = UNAuthorizationOptions(rawValue: 1)
    public static let sound = UNAuthorizationOptions(rawValue: 2)
    public static let alert = UNAuthorizationOptions(rawValue: 4)
}

open class UNNotificationContent: NSObject {
    public var title: String { "" }
    public var body: String { "" }
    public var badge: NSNumber? { nil }
    public var userInfo: [AnyHashable: Any] { [:] }
}

open class UNMutableNotificationContent: UNNotificationContent {
    override public var title: String {
        get { "" }
        set {}
    }
    override public var body: String {
        get { "" }
        set {}
    }
    override public var badge: NSNumber? {
        get { nil }
        set {}
    }
    override public var userInfo: [AnyHashable: Any] {
        get { [:] }
        set {}
    }
}

open class UNNotificationRequest: NSObject {
    public var content: UNNotificationContent { fatalError("a shim") }
}

open class UNNotificationServiceExtension: NSObject {
    open func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
    open func serviceExtensionTimeWillExpire() {}
}

open class UNNotification: NSObject {
    public var request: UNNotificationRequest { fatalError("a shim") }
}

open class UNNotificationResponse: NSObject {
    public var notification: UNNotification { fatalError("a shim") }
}

public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void)
}

open class UNUserNotificationCenter: NSObject {
    public class func current() -> UNUserNotificationCenter { fatalError("a shim") }
    public weak var delegate: (any UNUserNotificationCenterDelegate)?
    public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool { false }
    public func setBadgeCount(_ newBadgeCount: Int) async throws {}
    public func removeAllDeliveredNotifications() {}
}

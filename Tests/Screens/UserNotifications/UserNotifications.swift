// What the screens use of Apple's UserNotifications: its signatures, and nothing behind them.
@_exported import Foundation

public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let badge = UNAuthorizationOptions(rawValue: 1)
    public static let sound = UNAuthorizationOptions(rawValue: 2)
    public static let alert = UNAuthorizationOptions(rawValue: 4)
}

public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let sound = UNNotificationPresentationOptions(rawValue: 2)
    public static let list = UNNotificationPresentationOptions(rawValue: 8)
    public static let banner = UNNotificationPresentationOptions(rawValue: 16)
}

public struct UNNotificationActionOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let authenticationRequired = UNNotificationActionOptions(rawValue: 1)
}

public struct UNNotificationCategoryOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
}

open class UNNotificationAction: NSObject {}

open class UNTextInputNotificationAction: UNNotificationAction {
    public init(
        identifier: String, title: String, options: UNNotificationActionOptions = [], textInputButtonTitle: String,
        textInputPlaceholder: String
    ) {}
}

open class UNNotificationCategory: NSObject {
    public init(
        identifier: String, actions: [UNNotificationAction], intentIdentifiers: [String],
        options: UNNotificationCategoryOptions = []
    ) {}
}

open class UNNotificationTrigger: NSObject {}

open class UNNotificationContent: NSObject {
    public var title: String { "" }
    public var body: String { "" }
    public var badge: NSNumber? { nil }
    public var userInfo: [AnyHashable: Any] { [:] }
    public var threadIdentifier: String { "" }
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
    override public var threadIdentifier: String {
        get { "" }
        set {}
    }
}

open class UNNotificationRequest: NSObject {
    public convenience init(identifier: String, content: UNNotificationContent, trigger: UNNotificationTrigger?) {
        self.init()
    }
    public var identifier: String { "" }
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
    public var actionIdentifier: String { "" }
}

open class UNTextInputNotificationResponse: UNNotificationResponse {
    public var userText: String { "" }
}

public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void)
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void)
}

open class UNUserNotificationCenter: NSObject {
    public class func current() -> UNUserNotificationCenter { fatalError("a shim") }
    public weak var delegate: (any UNUserNotificationCenterDelegate)?
    public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool { false }
    public func setBadgeCount(_ newBadgeCount: Int) async throws {}
    public func removeAllDeliveredNotifications() {}
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {}
    public func getDeliveredNotifications(completionHandler: @escaping @Sendable ([UNNotification]) -> Void) {}
    public func setNotificationCategories(_ categories: Set<UNNotificationCategory>) {}
    public func add(_ request: UNNotificationRequest) async throws {}
}

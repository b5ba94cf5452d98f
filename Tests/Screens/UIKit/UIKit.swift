// What the screens use of Apple's UIKit: its signatures, and nothing behind them.
@_exported import Foundation

public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}

@MainActor open class UIResponder: NSObject {
    @discardableResult open func becomeFirstResponder() -> Bool { true }
}

@MainActor open class UIView: UIResponder {}

@MainActor open class UITextField: UIView {
    open var text: String?
}

@MainActor open class UILabel: UIView {
    open var text: String?
}

@MainActor open class UIApplication: UIResponder {
    public class var shared: UIApplication { fatalError("a shim") }
    public enum State: Int { case active, inactive, background }
    public var applicationState: State { .active }

    public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    open nonisolated func beginBackgroundTask(
        expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { fatalError("a shim") }

    open nonisolated func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}

    open func registerForRemoteNotifications() {}
}

@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool

    func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)
}

// Optional requirements of Objective-C, which Linux does not have.
extension UIApplicationDelegate {
    public func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool { true }

    public func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {}
}

@MainActor open class UIPasteboard: NSObject {
    public class var general: UIPasteboard { fatalError("a shim") }
    open var string: String?
}

public struct UITextContentType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let username = UITextContentType(rawValue: "username")
    public static let password = UITextContentType(rawValue: "password")
    public static let newPassword = UITextContentType(rawValue: "new-password")
    public static let givenName = UITextContentType(rawValue: "given-name")
}

public struct NSDiffableDataSourceSnapshot<Section: Hashable & Sendable, Item: Hashable & Sendable>: Sendable {
    public init() {}
    public mutating func appendSections(_ sections: [Section]) {}
    public mutating func appendItems(_ items: [Item]) {}
    public mutating func reconfigureItems(_ items: [Item]) {}
}

@MainActor open class UITableViewDiffableDataSource<Section: Hashable & Sendable, Item: Hashable & Sendable>: NSObject {
    public func apply(
        _ snapshot: NSDiffableDataSourceSnapshot<Section, Item>, animatingDifferences: Bool = true
    ) async {}
}

import Contracts

/// An installation of the app that can be woken.
struct Device: Sendable, Equatable {
    /// Which of a provider's two environments its token belongs to.
    enum Environment: String, Sendable, CaseIterable {
        case production, sandbox
    }

    /// The only one that the contract knows.
    static let platform = "ios"
    /// The maximum of a person's devices; a new one replaces the least recently registered.
    static let maxPerPerson = 25

    let token: DeviceToken
    let userID: String
    let environment: Environment
    /// When it was last registered.
    let registeredAt: Timestamp
}

/// The provider's name of a device. Apple's are hexadecimal; another provider's may be any
/// printable ASCII.
struct DeviceToken: Sendable, Hashable {
    /// Apple's have 64 characters today, and may have more.
    private static let maxLength = 256

    let text: String

    init(_ text: String) throws(ServiceError) {
        guard (1...Self.maxLength).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .invalid("token", "has to have 1 to \(Self.maxLength) printable characters of ASCII") }
        self.text = text
    }

    /// As it was checked before it was stored.
    init(stored text: String) { self.text = text }
}

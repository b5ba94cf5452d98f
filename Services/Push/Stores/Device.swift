import ParlorContracts

/// An installation of the app that can be notified.
struct Device: Sendable, Equatable {
    /// The environment of a provider that a token belongs to.
    enum Environment: String, Sendable, CaseIterable {
        case production, sandbox
    }

    /// The only platform in the contract.
    static let platform = "ios"
    /// The limit of a person's devices; a new one replaces the least recently registered.
    static let maxPerPerson = 25

    let token: DeviceToken
    let userID: String
    let environment: Environment
    /// The time of the last registration.
    let registeredAt: Timestamp
}

/// The token by which a provider addresses a device: hexadecimal for Apple, any printable ASCII for others.
///
/// A hexadecimal token in upper case and in lower case is the same device, and is kept in lower case.
struct DeviceToken: Sendable, Hashable {
    /// The length limit. Apple's tokens have 64 characters today, and may become longer.
    private static let maxLength = 256
    static let schema = Schema.string(1...maxLength).noted("Printable ASCII.")

    let text: String

    init(_ text: String) throws(ServiceError) {
        guard (1...Self.maxLength).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .invalid("token", "has to have 1 to \(Self.maxLength) printable characters of ASCII") }
        self.text = text.allSatisfy(\.isHexDigit) ? text.lowercased() : text
    }

    /// Creates a token from stored text, which was checked before it was stored.
    init(stored text: String) { self.text = text }
}

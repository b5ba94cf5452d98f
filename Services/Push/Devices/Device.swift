import Contracts

/// An installation of the app that can be woken.
struct Device: Sendable, Equatable {
    /// Which of a provider's two worlds its token belongs to.
    enum Environment: String, Sendable, CaseIterable {
        case production, sandbox
    }

    /// The only one that the contract knows.
    static let platform = "ios"
    /// Devices of a person; the one that was registered least recently gives way.
    static let maxPerPerson = 25

    let token: DeviceToken
    let userID: String
    let environment: Environment
    /// When it was last registered.
    let registeredAt: Timestamp
}

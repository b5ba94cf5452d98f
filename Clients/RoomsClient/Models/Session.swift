import Foundation

/// What registering, logging in and refreshing answer with.
public struct Session: Codable, Hashable, Sendable {
    public var token: String
    public var expiresAt: Date
    /// Works once.
    public var refreshToken: String
    public var user: Person
    /// The name of the refresh that is under way with ``refreshToken``; nil if there is none. It is to be kept with the rest.
    public var refreshAttemptID: String?

    public init(token: String, expiresAt: Date, refreshToken: String, user: Person, refreshAttemptID: String? = nil) {
        self.token = token
        self.expiresAt = expiresAt
        self.refreshToken = refreshToken
        self.user = user
        self.refreshAttemptID = refreshAttemptID
    }
}

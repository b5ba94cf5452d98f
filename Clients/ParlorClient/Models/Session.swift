import Foundation

/// The answer to a registration, a login or a refresh.
public struct Session: Codable, Hashable, Sendable {
    public var token: String
    public var expiresAt: Date
    /// The token for the next refresh. It works once.
    public var refreshToken: String
    public var user: Person
    /// The id of the refresh under way with ``refreshToken``; nil if there is none. Store it with the
    /// session.
    public var refreshAttemptID: String?

    public init(token: String, expiresAt: Date, refreshToken: String, user: Person, refreshAttemptID: String? = nil) {
        self.token = token
        self.expiresAt = expiresAt
        self.refreshToken = refreshToken
        self.user = user
        self.refreshAttemptID = refreshAttemptID
    }
}

import Foundation

/// What registering, logging in and refreshing answer with.
public struct Session: Codable, Equatable, Sendable {
    public var token: String
    public var expiresAt: Date
    /// Works once.
    public var refreshToken: String
    public var user: Person

    public init(token: String, expiresAt: Date, refreshToken: String, user: Person) {
        self.token = token
        self.expiresAt = expiresAt
        self.refreshToken = refreshToken
        self.user = user
    }
}

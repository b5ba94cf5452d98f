import Foundation

/// A signed-in session: the server's answer to a registration, a login or a refresh.
public struct Session: Codable, Hashable, Sendable {
    /// The access token.
    public var token: String
    /// The time when ``token`` expires.
    public var expiresAt: Date
    /// The token for the next refresh. It works only once.
    public var refreshToken: String
    /// The person who is signed in.
    public var user: Person
    /// The id of the refresh with ``refreshToken`` that is in progress; nil if there is none. Store it with the
    /// session, so that a refresh whose answer is lost can be repeated.
    public var refreshAttemptID: String?

    public init(token: String, expiresAt: Date, refreshToken: String, user: Person, refreshAttemptID: String? = nil) {
        self.token = token
        self.expiresAt = expiresAt
        self.refreshToken = refreshToken
        self.user = user
        self.refreshAttemptID = refreshAttemptID
    }
}

import Foundation

public struct Person: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var username: String
    public var firstName: String?
    /// Of others only as far as the server shows it.
    public var email: String?

    public init(id: String, username: String, firstName: String? = nil, email: String? = nil) {
        self.id = id
        self.username = username
        self.firstName = firstName
        self.email = email
    }

    /// The first name, or the username.
    public var displayName: String { firstName ?? username }
}

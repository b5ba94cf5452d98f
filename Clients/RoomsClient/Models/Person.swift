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

    public var displayName: String { Self.displayName(firstName, username) }

    /// The first name, unless there is nothing to see in it; else the username.
    static func displayName(_ firstName: String?, _ username: String) -> String {
        guard let firstName, firstName.contains(where: { !$0.isWhitespace }) else { return username }
        return firstName
    }
}

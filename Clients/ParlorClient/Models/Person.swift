import Foundation

public struct Person: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var username: String
    public var firstName: String?
    /// The e-mail address; for others only if the server shows it.
    public var email: String?

    public init(id: String, username: String, firstName: String? = nil, email: String? = nil) {
        self.id = id
        self.username = username
        self.firstName = firstName
        self.email = email
    }

    public var displayName: String { Self.displayName(firstName, username) }

    /// Returns the first name, or the username if the first name is empty or invisible.
    static func displayName(_ firstName: String?, _ username: String) -> String {
        guard let firstName, firstName.contains(where: { !$0.isWhitespace }) else { return username }
        return firstName
    }
}

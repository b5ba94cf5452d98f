import Foundation

/// A person with an account on the server.
public struct Person: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var username: String
    public var firstName: String?
    /// The e-mail address. For other people it is nil unless the server shows it.
    public var email: String?
    /// The members of the server's JSON that this version of the library does not know, by name, such as fields of
    /// plugins. Only answers with people have them: the sender of a message and the participants of a room
    /// have none.
    public var extras: [String: JSON]

    public init(
        id: String, username: String, firstName: String? = nil, email: String? = nil, extras: [String: JSON] = [:]
    ) {
        self.id = id
        self.username = username
        self.firstName = firstName
        self.email = email
        self.extras = extras
    }

    /// The first name, or the username if there is no first name.
    public var displayName: String { Self.displayName(firstName, username) }

    /// Returns the first name, or the username if the first name is missing or has only white space.
    static func displayName(_ firstName: String?, _ username: String) -> String {
        guard let firstName, firstName.contains(where: { !$0.isWhitespace }) else { return username }
        return firstName
    }
}

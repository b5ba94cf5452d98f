import Foundation

public struct Person: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var username: String
    public var firstName: String?
    /// The e-mail address; for others only if the server shows it.
    public var email: String?
    /// The members of the server's person that this version does not know, by name: fields of added services,
    /// in answers with people. The sender of a message and the participants of a room have none.
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

    public var displayName: String { Self.displayName(firstName, username) }

    /// Returns the first name, or the username if the first name is empty or invisible.
    static func displayName(_ firstName: String?, _ username: String) -> String {
        guard let firstName, firstName.contains(where: { !$0.isWhitespace }) else { return username }
        return firstName
    }
}

import RoomsClient

extension Room {
    /// The most characters that a server takes for a name.
    static let longestName = 100

    /// The name; nil if it has none that can be seen.
    var visibleName: String? { name.flatMap { $0.contains { !$0.isWhitespace } ? $0 : nil } }

    /// The people in it besides one, by their first names.
    func others(besides ownID: Person.ID) -> String {
        participants.filter { $0.userId != ownID }.map(\.displayName).joined(separator: ", ")
    }

    /// Whether somebody besides one has it open now.
    func isVisited(besides ownID: Person.ID) -> Bool {
        participants.contains { $0.userId != ownID && $0.isPresent }
    }

    /// nil of somebody who is not in it.
    func name(of userID: Person.ID) -> String? { participants.first { $0.userId == userID }?.displayName }
}

extension Person {
    /// True if the username or the first name begins like this, as the server's search has it.
    func matches(_ prefix: String) -> Bool {
        [username, firstName ?? ""].contains { $0.lowercased().hasPrefix(prefix.lowercased()) }
    }
}

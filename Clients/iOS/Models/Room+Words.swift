import ParlorClient

extension Room {
    /// The maximum length of a name that the server allows, in Unicode scalars.
    static let longestName = 100

    /// The name; nil if there is none, or if it has only white space.
    var visibleName: String? { name.flatMap { $0.contains { !$0.isWhitespace } ? $0 : nil } }

    /// Returns the names of the other participants, separated by commas. Of more than three, it returns two names and the
    /// number of the others: `Ben, Carol +4`.
    func others(besides ownID: Person.ID) -> String {
        let names = participants.filter { $0.userID != ownID }.map(\.displayName)
        let rest = participantCount - 3
        return names.prefix(rest > 1 ? 2 : 3).joined(separator: ", ") + (rest > 1 ? " +\(rest)" : "")
    }

    /// Returns whether another participant has the room open.
    func isVisited(besides ownID: Person.ID) -> Bool {
        participants.contains { $0.userID != ownID && $0.isPresent }
    }

    /// Returns a participant's name; nil for anybody else.
    func name(of userID: Person.ID) -> String? { participants.first { $0.userID == userID }?.displayName }
}

extension Person {
    /// Returns whether the username or the first name has the prefix, as in the server's search.
    func matches(_ prefix: String) -> Bool {
        [username, firstName ?? ""].contains { $0.lowercased().hasPrefix(prefix.lowercased()) }
    }
}

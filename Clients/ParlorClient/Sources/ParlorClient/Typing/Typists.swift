/// The other people who type in a room, in the order in which they began.
///
/// A person types until the server says that they stopped, or until their message arrives. There is no time limit: the
/// server sends no renewals, however long somebody types. It always sends the end, even if that person's app or gateway
/// is gone. When this client's connection ends, everybody is removed.
package struct Typists: Equatable, Sendable {
    private let ownID: String
    package private(set) var userIDs: [String] = []

    package init(ownID: String) { self.ownID = ownID }

    /// Applies a typing event. Those of the person's own devices are ignored.
    package mutating func note(_ userID: String, isTyping: Bool) {
        guard userID != ownID else { return }
        if !isTyping { return end(userID) }
        if !userIDs.contains(userID) { userIDs.append(userID) }
    }

    /// Ends a person's typing, because their message has arrived.
    package mutating func end(_ userID: String) { userIDs.removeAll { $0 == userID } }

    /// Removes everybody, because a lost connection delivers no ends.
    package mutating func removeAll() { userIDs = [] }
}

/// The others who type in a room, in the order they began, until they stop or their message arrives.
///
/// There is no time limit: the server sends no renewals, however long a person types. It sends the end, also
/// for a person whose app or gateway is gone, and a connection that ends takes all typing with it.
public struct Typists: Equatable, Sendable {
    private let ownID: String
    public private(set) var userIDs: [String] = []

    public init(ownID: String) { self.ownID = ownID }

    public mutating func note(_ userID: String, isTyping: Bool) {
        guard userID != ownID else { return }
        if !isTyping { return end(userID) }
        if !userIDs.contains(userID) { userIDs.append(userID) }
    }

    /// Ends a typing whose message has arrived.
    public mutating func end(_ userID: String) { userIDs.removeAll { $0 == userID } }

    /// Removes everyone: a lost connection delivers no ends.
    public mutating func removeAll() { userIDs = [] }
}

/// The rooms that a socket has joined, and those that it should join.
struct JoinedRooms: Equatable {
    /// The rooms to join, in the order of the requests.
    private(set) var wanted: [String] = []
    /// The rooms joined on this connection.
    private(set) var joined: Set<String> = []

    /// The wanted rooms whose unseen elements stay unseen.
    private(set) var unseen: Set<String> = []

    mutating func want(_ roomID: String, keepingUnseen: Bool = false) {
        if !wanted.contains(roomID) { wanted.append(roomID) }
        let isChanged = keepingUnseen ? unseen.insert(roomID).inserted : unseen.remove(roomID) != nil
        // It is joined again, also if the next attempt fails.
        if isChanged { joined.remove(roomID) }
    }

    /// Moves a room that could not be joined to the end, so that the others are joined before the next attempt.
    mutating func putLast(_ roomID: String) {
        guard let index = wanted.firstIndex(of: roomID) else { return }
        wanted.append(wanted.remove(at: index))
    }

    /// Removes a room that was left, or that the server refuses for good.
    mutating func drop(_ roomID: String) {
        wanted.removeAll { $0 == roomID }
        joined.remove(roomID)
        unseen.remove(roomID)
    }

    mutating func noteJoined(_ roomID: String) { joined.insert(roomID) }

    mutating func forgetConnection() { joined = [] }

    func wants(_ roomID: String) -> Bool { wanted.contains(roomID) }

    /// The next room to join; nil if all are joined.
    var next: String? { wanted.first { !joined.contains($0) } }
}

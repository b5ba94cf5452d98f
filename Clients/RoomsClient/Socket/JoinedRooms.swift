/// The rooms that a socket has joined, or is to join.
struct JoinedRooms: Equatable {
    /// In the order they were asked for.
    private(set) var wanted: [String] = []
    /// On this connection.
    private(set) var joined: Set<String> = []

    mutating func want(_ roomID: String, keepingOthers: Bool) {
        if !keepingOthers { wanted.removeAll { $0 != roomID } }
        if !wanted.contains(roomID) { wanted.append(roomID) }
    }

    /// It was left, or the server refuses it.
    mutating func drop(_ roomID: String) {
        wanted.removeAll { $0 == roomID }
        joined.remove(roomID)
    }

    mutating func noteJoined(_ roomID: String, keepingOthers: Bool) {
        if !keepingOthers { joined = [] }
        joined.insert(roomID)
    }

    mutating func forgetConnection() { joined = [] }

    func wants(_ roomID: String) -> Bool { wanted.contains(roomID) }

    /// nil if all are joined.
    var next: String? { wanted.first { !joined.contains($0) } }
}

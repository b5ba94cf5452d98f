/// The events of a socket that are not forwarded yet, by room: those whose checks are not answered, and later
/// ones of the same room, which must not overtake them. They count towards the socket's limit of events in
/// progress (`ClientSocket.begin`).
struct HeldEvents {
    /// The events by room. A room is in it only while an event waits.
    private var rooms: [String: [ClientEvent]] = [:]

    /// Returns true if an event in this room has to wait behind another one.
    func holds(_ room: String?) -> Bool { !rooms.isEmpty && rooms[Self.key(room)] != nil }

    mutating func append(_ event: ClientEvent) { rooms[Self.key(event.roomID), default: []].append(event) }

    /// Removes the first event of a room, if its checks are answered.
    mutating func popChecked(in room: String?) -> ClientEvent? {
        // Take the list out of the table, so that the change does not copy it.
        guard var events = rooms.removeValue(forKey: Self.key(room)) else { return nil }
        let first = events.first?.isBeingChecked == false ? events.removeFirst() : nil
        if !events.isEmpty { rooms[Self.key(room)] = events }
        return first
    }

    /// Returns the key of a room. Events that name no room have one as well, so that they stay in order.
    private static func key(_ room: String?) -> String { room ?? "" }
}

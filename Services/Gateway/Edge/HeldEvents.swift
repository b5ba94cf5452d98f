/// The events of a socket that are not forwarded yet, by room: those whose checks are not answered, and later
/// ones of the same room, which must not overtake them. Their number is limited with that of all events in progress
/// (`SocketSession.mayStart`).
struct HeldEvents {
    /// Without the rooms that no event waits for.
    private var rooms: [String: [ServiceEvent]] = [:]

    var isEmpty: Bool { rooms.isEmpty }

    /// True if an event in this room has to wait behind another one.
    func holds(_ room: String?) -> Bool { !rooms.isEmpty && rooms[Self.key(room)] != nil }

    mutating func append(_ event: ServiceEvent) { rooms[Self.key(event.roomID), default: []].append(event) }

    /// Removes the first event of a room, if its checks are answered.
    mutating func popChecked(in room: String?) -> ServiceEvent? {
        guard let first = rooms[Self.key(room)]?.first, !first.isBeingChecked else { return nil }
        rooms[Self.key(room)]?.removeFirst()
        if rooms[Self.key(room)]?.isEmpty == true { rooms[Self.key(room)] = nil }
        return first
    }

    /// Events that name no room are in one order, too.
    private static func key(_ room: String?) -> String { room ?? "" }
}

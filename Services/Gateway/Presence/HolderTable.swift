/// Who holds what in which room: a person has a room open, or is typing in it, as long as anyone holds it for them: a
/// socket of this gateway, or another gateway.
struct HolderTable: Sendable {
    private var holders: [String: [String: Set<String>]] = [:]
    private var places: [String: Set<RoomMember>] = [:]

    func isHeld(_ place: RoomMember) -> Bool { holders[place.roomID]?[place.userID] != nil }

    func userIDs(in roomID: String) -> some Collection<String> { holders[roomID, default: [:]].keys }

    func holders(of place: RoomMember) -> Set<String> { holders[place.roomID]?[place.userID] ?? [] }

    func places(of holder: String) -> Set<RoomMember> { places[holder] ?? [] }

    /// - Returns: whether this is the place's first holder.
    @discardableResult
    mutating func add(_ holder: String, at place: RoomMember) -> Bool {
        let isFirst = !isHeld(place)
        holders[place.roomID, default: [:]][place.userID, default: []].insert(holder)
        places[holder, default: []].insert(place)
        return isFirst
    }

    /// - Returns: whether this was the place's last holder.
    @discardableResult
    mutating func remove(_ holder: String, at place: RoomMember) -> Bool {
        guard holders[place.roomID]?[place.userID]?.remove(holder) != nil else { return false }
        places[holder]?.remove(place)
        if places[holder]?.isEmpty == true { places[holder] = nil }
        guard holders[place.roomID]?[place.userID]?.isEmpty == true else { return false }
        holders[place.roomID]?[place.userID] = nil
        if holders[place.roomID]?.isEmpty == true { holders[place.roomID] = nil }
        return true
    }

    /// - Returns: the places that are held by nobody any more.
    mutating func removeAll(of holder: String) -> [RoomMember] {
        (places[holder] ?? []).filter { remove(holder, at: $0) }
    }
}

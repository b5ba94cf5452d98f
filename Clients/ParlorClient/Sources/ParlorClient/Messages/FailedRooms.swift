/// The rooms with a failed message.
struct FailedRooms: Equatable, Sendable {
    private(set) var ids: Set<String> = []
    /// Rises with every change. Of two values, the one with the higher number is the newer one.
    private(set) var version = 0

    /// - Returns: false if nothing has changed.
    mutating func set(_ hasFailed: Bool, for roomID: String) -> Bool {
        guard hasFailed != ids.contains(roomID) else { return false }
        if hasFailed { ids.insert(roomID) } else { ids.remove(roomID) }
        version += 1
        return true
    }
}

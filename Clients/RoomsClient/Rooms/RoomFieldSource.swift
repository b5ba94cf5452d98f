/// What other services add to a room, by the name that an answer's `degraded` has for each. Others yet add nothing that is shown.
enum RoomFieldSource: String, Sendable {
    case messages = "messaging"
    case elements

    static func named(in degraded: [String]) -> Set<RoomFieldSource> { Set(degraded.compactMap(RoomFieldSource.init)) }
}

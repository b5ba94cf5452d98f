/// The services that add fields to a room, by their names in `degraded`. Other services add nothing that is
/// shown.
enum RoomFieldSource: String, Sendable {
    case messages = "messaging"
    case elements

    static func named(in degraded: [String]) -> Set<RoomFieldSource> { Set(degraded.compactMap(RoomFieldSource.init)) }
}

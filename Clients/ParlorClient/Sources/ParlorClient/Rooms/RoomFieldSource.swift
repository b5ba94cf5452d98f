/// The services that add fields to a room.
enum RoomFieldSource: Sendable {
    case messages
    case elements
    /// The services that were added to the server. The client does not know which of them adds which field.
    case others

    /// Returns the sources with these names.
    ///
    /// - Parameter degraded: the names of services in an answer's `degraded`.
    static func named(in degraded: [String]) -> Set<RoomFieldSource> {
        Set(
            degraded.map { name in
                switch name {
                case "messaging": .messages
                case "elements": .elements
                default: .others
                }
            })
    }
}

extension Room {
    /// True if it has fields of services that were added to the server.
    var hasOtherFields: Bool { !extras.isEmpty || !badges.others.isEmpty }
}

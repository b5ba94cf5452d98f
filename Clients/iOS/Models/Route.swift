import ParlorClient

/// A destination of navigation. The room is a snapshot; the screens read the current one from the list.
///
/// Two routes are equal if they lead to the same screen of the same room. The room's other fields do not count, because
/// badges and times change while the screen is shown.
enum Route: Hashable {
    case chat(Room)
    case board(Room)

    private enum Screen {
        case chat, board
    }

    private var identity: (screen: Screen, roomID: Room.ID) {
        switch self {
        case .chat(let room): (.chat, room.id)
        case .board(let room): (.board, room.id)
        }
    }

    static func == (one: Route, other: Route) -> Bool { one.identity == other.identity }

    func hash(into hasher: inout Hasher) {
        hasher.combine(identity.screen)
        hasher.combine(identity.roomID)
    }
}

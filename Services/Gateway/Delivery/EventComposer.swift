import Contracts
import JSON
import RoomViews

/// Fills in what only a gateway can, as it alone can ask all services: of events that are sent live, and of replayed ones.
package struct EventComposer: Sendable {
    private let composer: RoomComposer
    private let badges: RoomBadges

    package init(_ composer: RoomComposer, _ badges: RoomBadges) {
        self.composer = composer
        self.badges = badges
    }

    /// A room that was made with this entry, and is the same for everyone in it. Composed at once, so that it keeps its place among the
    /// events around it; nil if it is no room.
    func newRoom(_ base: JSONValue) -> JSONValue? {
        composer.newRoom(base).map { room in JSONWriter.object { $0.member("room", room) } }
    }

    /// The data of a live `room:badges`.
    func badges(_ event: Replay.Event, for userID: String) async -> JSONValue {
        await badges.data(event.item.emission.data, roomID: event.roomID, for: userID)
    }

    /// The data of replayed events as clients see it, in their order; nil for one that cannot be made. Badges that the emitting service does
    /// not own are as they are now, and asked for together.
    package func data(of events: [Replay.Event], for userID: String) async -> [JSONValue?] {
        let given = events.lazy.filter { $0.item.emission.composition == .badges }
            .map { (roomID: $0.roomID, data: $0.item.emission.data) }
        var composed = await badges.data(Array(given), for: userID)[...]
        return events.map { event in
            switch event.item.emission.composition {
            case .badges: composed.popFirst()
            case .room: newRoom(event.item.emission.data)
            case nil: event.item.emission.data
            }
        }
    }
}

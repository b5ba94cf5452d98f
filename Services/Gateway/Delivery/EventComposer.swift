import ParlorContracts
import ParlorJSON
import ParlorRoomViews

/// Completes events with the fields that only a gateway can fill in, because only it can ask all services. It
/// does so for live and for replayed events.
package struct EventComposer: Sendable {
    private let composer: RoomComposer
    private let badges: RoomBadges

    package init(_ composer: RoomComposer, _ badges: RoomBadges) {
        self.composer = composer
        self.badges = badges
    }

    /// Returns the data of the event for a new room, which is the same for everyone in the room. It is composed
    /// at once, so that it stays in order with the events around it.
    ///
    /// - Returns: nil if `base` is not a room.
    func newRoom(_ base: JSONValue) -> JSONValue? {
        composer.newRoom(base).map { room in JSONWriter.object { $0.member("room", room) } }
    }

    /// Returns the data of a room that a person has come to, as the person sees it.
    ///
    /// - Returns: nil if `base` is not a room.
    private func joinedRoom(_ base: JSONValue, for userID: String) async -> JSONValue? {
        guard let room = await composer.room(base, for: userID) else { return newRoom(base) }
        return JSONWriter.object { $0.member("room", room) }
    }

    /// Returns the data of a live event that is composed for its person.
    func composed(_ event: Replay.Event, for userID: String) async -> JSONValue? {
        let data = event.item.emission.data
        return event.item.emission.composition == .badges
            ? await badges.data(data, roomID: event.roomID, for: userID) : await joinedRoom(data, for: userID)
    }

    /// Returns the data of replayed events as clients see it, in order; nil for an event that cannot be
    /// composed. Badges that the emitting service does not own have their current values, and are requested
    /// together.
    package func data(of events: [Replay.Event], for userID: String) async -> [JSONValue?] {
        let given = events.lazy.filter { $0.item.emission.composition == .badges }
            .map { (roomID: $0.roomID, data: $0.item.emission.data) }
        var composed = await badges.data(Array(given), for: userID)[...]
        var all: [JSONValue?] = []
        for event in events {
            let data = event.item.emission.data
            let shown: JSONValue? =
                switch event.item.emission.composition {
                case .badges: composed.popFirst()
                case .room: newRoom(data)
                case .joinedRoom: await joinedRoom(data, for: userID)
                case nil: data
                }
            all.append(shown)
        }
        return all
    }
}

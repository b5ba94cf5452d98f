import Contracts
import JSON

// Events that a gateway composes, live and replayed.
extension RoomComposer {
    /// The badges that go with those that events bring, of the rooms that need them, as they are now.
    func otherBadges(for events: [Replay.Event], of caller: Caller) async -> [String: Badges] {
        let rooms = Set(events.lazy.filter { $0.item.emission.composition == .badges }.map(\.roomID))
        return await badges(of: rooms.sorted(), for: caller.id)
    }

    /// An event's data as clients see it; nil if it cannot be made.
    func data(of event: Replay.Event, _ badges: [String: Badges]) -> JSONValue? {
        let emission = event.item.emission
        switch emission.composition {
        case .badges: return Self.data(ofBadges: emission.data, roomID: event.roomID, badges[event.roomID] ?? [])
        case .room: return newRoom(emission.data).map { room in JSONWriter.object { $0.member("room", room) } }
        case nil: return emission.data
        }
    }
}

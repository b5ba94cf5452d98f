import ParlorClient

/// A call of a plugin's route or socket event on a ``ScriptedServer``: the request, and what the handler does.
///
/// What the handler does is done in its order when it returns, before the answer is sent. If it throws, nothing
/// is done.
public struct ScriptedCall: Sendable {
    /// The sockets that receive an event.
    public enum Audience: Sendable, Equatable {
        /// Those that joined the room.
        case room
        /// All of one person's.
        case person(String)
        /// As ``ScriptedServer/Settings/broadcastsToEveryone`` says.
        case everyone
    }

    enum Effect: Sendable {
        case emit(String, JSON, Audience, roomID: String)
        case badge(String, Int, personID: String, roomID: String)
        case field(String, JSON, roomID: String)
    }

    /// The person who calls.
    public let personID: String
    /// The members of the body or the payload, with the query's items and the path's parameters, which are
    /// strings.
    public let fields: JSON
    /// The status of a route's answer.
    public var status = 200
    /// The cursor in a route's `page`.
    public var nextPage: String?
    private(set) var effects: [Effect] = []

    init(personID: String, fields: JSON) {
        self.personID = personID
        self.fields = fields
    }

    /// The room that the call is about, `roomId` in its fields; empty if there is none. The person is in it:
    /// others are refused with `room_not_found` before the handler runs.
    public var roomID: String { fields["roomId"]?.string ?? "" }

    /// Emits an event; `roomId` is added to its data.
    public mutating func emit(_ event: String, _ data: JSON, to audience: Audience = .room) {
        effects.append(.emit(event, data, audience, roomID: roomID))
    }

    /// Sets a person's badge in the room, and sends the person `room:badges`.
    public mutating func setBadge(_ name: String, to count: Int, of personID: String) {
        effects.append(.badge(name, count, personID: personID, roomID: roomID))
    }

    /// Sets a field of the Room, for all of its participants.
    public mutating func setField(_ name: String, to value: JSON) {
        effects.append(.field(name, value, roomID: roomID))
    }
}

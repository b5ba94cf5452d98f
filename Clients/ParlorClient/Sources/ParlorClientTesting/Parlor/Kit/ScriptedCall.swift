import ParlorClient

/// A call of a plugin's route or socket event on a ``ScriptedServer``.
///
/// It has the request, and it collects the handler's effects: events, badges and fields. The server applies the
/// effects in their order when the handler returns, before it sends the answer. If the handler throws, it applies
/// none.
public struct ScriptedCall: Sendable {
    /// Handles a plugin's calls.
    ///
    /// A handler may have state of its own behind a lock. It may throw a `Refusal`; any other error is answered with
    /// `internal_error`. It runs while the server is locked, so it must not call the server, only the
    /// ``ScriptedCall``.
    public typealias Handler = @Sendable (inout ScriptedCall) throws -> JSON

    /// The sockets that receive an event.
    public enum Audience: Sendable, Equatable {
        /// The sockets that have joined the room.
        case room
        /// All sockets of one person.
        case person(String)
        /// All sockets, or those of the room's participants; see ``ScriptedServer/Settings/broadcastsToEveryone``.
        case everyone
    }

    /// The id of the person who calls.
    public let personID: String
    /// The members of the body or the payload. For a route, the query's items and the path's parameters are added as
    /// strings.
    public let fields: JSON
    /// The HTTP status of a route's answer.
    public var status = 200
    /// The cursor of the next page in a route's answer; nil on the last page.
    ///
    /// Assigning a value makes the answer a page. On the last page of a list, assign nil: `page.next` is then null. If
    /// a handler assigns nothing, its answer has no `page`.
    public var nextPage: String? {
        didSet { isPage = true }
    }
    private(set) var isPage = false
    private(set) var effects: [Effect] = []

    init(personID: String, fields: JSON) {
        self.personID = personID
        self.fields = fields
    }

    /// The call's `roomId`; empty if it has none. The person is in that room: the server refuses others with
    /// `room_not_found` before the handler runs.
    public var roomID: String { fields["roomId"]?.string ?? "" }

    /// Emits an event. `roomId` is added to its data.
    public mutating func emit(_ event: String, _ data: JSON, to audience: Audience = .room) {
        effects.append(.emit(event, data, in: roomID, to: audience))
    }

    /// Sets a person's badge in the room, and sends the person `room:badges`.
    public mutating func setBadge(_ name: String, to count: Int, of personID: String) {
        effects.append(.setBadge(name, to: count, of: personID))
    }

    /// Sets a field of the room, for all of its participants.
    public mutating func setField(_ name: String, to value: JSON) {
        effects.append(.setField(name, to: value))
    }
}

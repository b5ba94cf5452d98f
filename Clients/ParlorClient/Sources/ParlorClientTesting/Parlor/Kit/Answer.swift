import ParlorClient

/// The answer to a request.
struct Answer {
    var status: Int
    var data: JSON
    /// What follows from the request, in order.
    var effects: [Effect]
    /// The cursor of the next page: `.some(nil)` on the last page, nil if the answer is not a page.
    var next: String??
    /// True if the `tempId` was used before, so nothing was stored.
    var isDuplicate = false

    init(
        _ status: Int, _ data: JSON = .null, _ effects: [Effect] = [], next: String?? = nil, isDuplicate: Bool = false
    ) {
        self.status = status
        self.data = data
        self.effects = effects
        self.next = next
        self.isDuplicate = isDuplicate
    }
}

/// What follows from a call or a change in a room.
enum Effect: Sendable {
    /// An event. It is logged for replays unless it is for everyone. If it concerns some people, only they get it.
    case emit(String, JSON, to: Audience, concerning: [String]? = nil)
    /// `room:badges` for a person.
    case badges(of: String)
    case endTyping(of: String)
    /// A deleted message is left out of later replays.
    case forget(messageID: String)
    case setBadge(String, to: Int, of: String)
    case setField(String, to: JSON)

    /// Returns an event with `roomId` added to its data.
    static func emit(_ event: String, _ data: JSON, in roomID: String, to audience: Audience) -> Effect {
        .emit(event, data.adding(["roomId": .string(roomID)]), to: audience)
    }
}

typealias Audience = ScriptedCall.Audience

/// Data of a room that an event lacked. A second event may bring it, and an answer always does.
enum RoomNeed: Hashable, Sendable {
    /// The text of this message.
    case message(String)
    /// The time of this deletion.
    case deletion(String)
    /// The number of elements, after a change of this one.
    case element(String)
    /// The number of elements, after the room was cleared.
    case clearing
    /// Data that only an answer can bring.
    case answer
}

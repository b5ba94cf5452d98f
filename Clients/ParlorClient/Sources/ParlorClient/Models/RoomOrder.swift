/// The sort order of rooms, latest first.
public enum RoomOrder: String, Codable, CaseIterable, Sendable {
    /// By the last change of messages or content, whichever is later.
    case activity
    /// By the last message that was sent or deleted. Rooms without any come last.
    case messages
    /// By the last change of the elements or the name.
    case content
}

/// The sort order of rooms, latest first.
public enum RoomOrder: String, Codable, CaseIterable, Sendable {
    /// By the later of content and messages.
    case activity
    /// By the last message; rooms without messages come last.
    case messages
    case content
}

/// By what rooms are sorted, the latest first.
public enum RoomOrder: String, Codable, CaseIterable, Sendable {
    /// The later of content and messages.
    case activity
    /// Those that never had a message come last.
    case messages
    case content
}

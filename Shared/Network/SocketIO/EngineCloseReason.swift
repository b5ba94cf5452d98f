/// Why an Engine.IO session ended.
public enum EngineCloseReason: Sendable, Equatable {
    case pingTimeout
    /// The connection that carried it ended.
    case transportClosed
    /// The client said so.
    case closedByClient
    case closedByServer
    /// A second GET came while one was held.
    case overlappingPolls
    case violation(ProtocolViolation)
}

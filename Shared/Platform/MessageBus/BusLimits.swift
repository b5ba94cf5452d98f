/// The limits of JSON lines. Every bus enforces them, so that a message that works in one process works
/// between processes.
public enum BusLimits {
    /// The longest line, including its newline. It bounds the memory that one peer can make another one use. The edge's
    /// limit of a body is the same. A body that is nearly as long may not fit into a line, and is answered with
    /// `payload_too_large`.
    public static let maxLine = 1 << 20

    /// The number of bytes that a broker may add to a line when it forwards it.
    public static let maxAddedByBroker = 128

    /// The longest `pub`, `req` or `res` line.
    public static let maxPassedOnLine = maxLine - maxAddedByBroker

    /// The limit of queued bytes of a connection: eight of the longest lines. At the limit, a client refuses to send,
    /// and a broker closes the connection.
    public static let defaultMaxUnsentBytes = 8 << 20

    /// The space beyond the limit of queued bytes for lines which report that a reply did not fit (`slow_consumer`
    /// with an `id`). It holds about four thousand of them.
    static let maxRefusalBytes = 256 << 10
}

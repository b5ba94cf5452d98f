/// The limits of JSON lines. Every bus keeps them, so that what works in one process works in several.
public enum BusLimits {
    /// The longest line, counted with its newline: it bounds what one peer can make another one hold. A body so near
    /// to it that it does not fit once it is wrapped is too large for the edge, too.
    public static let maxLine = 1 << 20

    /// What a broker adds to a line at most when it passes it on.
    public static let maxAddedByBroker = 128

    /// The longest `pub`, `req` or `res` line.
    public static let maxPassedOnLine = maxLine - maxAddedByBroker

    /// How far a connection may be behind before it is cut: eight of the longest lines.
    public static let defaultMaxPendingBytes = 8 << 20

    /// What lines may take that say that a reply had no room: four thousand of them.
    static let maxRefusalBytes = 256 << 10
}

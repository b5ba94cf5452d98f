import JSON

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
    public static let defaultMaxPendingBytes = 8 << 20

    /// The space beyond the limit of queued bytes for lines which report that a reply did not fit (`slow_consumer`
    /// with an `id`). It holds about four thousand of them.
    static let maxRefusalBytes = 256 << 10

    // MARK: Lengths

    // The names of members, the punctuation and the numbers of a line take fewer bytes than this.
    private static let frame = 200

    /// Returns true if the `pub` line would be longer than a broker forwards.
    static func isPublishTooLong(_ subject: String, _ payload: any BusPayload) -> Bool {
        isTooLong(atMost: frame + subject.utf8.count + payload.maxBytes) {
            LineWriter.publish(subject, payload.json, to: &$0)
        }
    }

    static func isRequestTooLong(_ subject: String, _ data: JSONValue, _ context: BusContext) -> Bool {
        let texts = [subject, context.requestID, context.key ?? "", context.trace ?? ""]
        // An escaped byte takes six.
        let atMost = texts.reduce(frame) { $0 + $1.utf8.count * 6 }
        return isTooLong(atMost: atMost + data.bytes.count + (context.caller?.bytes.count ?? 0)) {
            LineWriter.request(.max >> 1, subject, data, context, to: &$0)
        }
    }

    static func isReplyTooLong(_ payload: any BusPayload) -> Bool {
        isTooLong(atMost: frame + payload.maxBytes) { LineWriter.reply(.max >> 1, payload.json, to: &$0) }
    }

    /// Returns true if a line is too long. Only a line that may be too long is written, to measure it.
    private static func isTooLong(atMost bound: Int, _ write: (inout [UInt8]) -> Void) -> Bool {
        guard bound > maxPassedOnLine else { return false }
        var out: [UInt8] = []
        write(&out)
        return out.count > maxPassedOnLine
    }
}

import JSON

/// The limits of JSON lines. Every bus keeps them, so that what works in one process works in several.
public enum BusLimits {
    /// The longest line, counted with its newline: it bounds what one peer can make another one hold. A body so near
    /// to it that it does not fit once it is wrapped is too large for the edge, too.
    public static let maxLine = 1 << 20

    /// The maximum of bytes that a broker adds to a line when it passes it on.
    public static let maxAddedByBroker = 128

    /// The longest `pub`, `req` or `res` line.
    public static let maxPassedOnLine = maxLine - maxAddedByBroker

    /// The queue at which a connection is closed: eight of the longest lines.
    public static let defaultMaxPendingBytes = 8 << 20

    /// The space for lines that report a reply without room: four thousand of them.
    static let maxRefusalBytes = 256 << 10

    // MARK: Lengths

    // Members, punctuation and numbers of the longest line come to less than this.
    private static let frame = 200

    /// True if the `pub` line would be longer than a broker passes on.
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

    /// Only a line near the limit has to be written to be measured.
    private static func isTooLong(atMost bound: Int, _ write: (inout [UInt8]) -> Void) -> Bool {
        guard bound > maxPassedOnLine else { return false }
        var out: [UInt8] = []
        write(&out)
        return out.count > maxPassedOnLine
    }
}

import ParlorJSON

extension BusLimits {
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

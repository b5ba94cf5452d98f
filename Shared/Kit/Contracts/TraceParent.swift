/// A request's position in a distributed trace: the W3C header `traceparent` (Trace Context,
/// section 3.2), version 00.
///
/// Parlor records no spans. It passes the value on to every service and writes the trace's id to
/// its logs.
public struct TraceParent: Sendable, Equatable {
    /// The value as it was received.
    public let text: String

    /// The trace's id, 32 hexadecimal digits.
    public var traceID: Substring { text.dropFirst(3).prefix(32) }

    /// Parses a value; nil if it is malformed, in which case it is treated as absent. A later version may have
    /// more fields after those of this one.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count >= 4, text.utf8.count <= Self.maxLength,
            zip(parts, [2, 32, 16, 2]).allSatisfy({ $0.count == $1 && $0.allSatisfy(Self.isLowercaseHex) }),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        let zero = UInt8(ascii: "0")
        let isCurrent = parts[0].elementsEqual("00".utf8)
        guard !parts[0].elementsEqual("ff".utf8), !isCurrent || parts.count == 4,
            parts[1].contains(where: { $0 != zero }), parts[2].contains(where: { $0 != zero })
        else { return nil }
        self.text = text
    }

    /// The length limit, as the value is sent with every request.
    private static let maxLength = 128

    private static func isLowercaseHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

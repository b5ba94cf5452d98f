/// Base64 with padding (RFC 4648, section 4).
public enum Base64 {
    private static let codec = Base64Codec(last: "+/", pads: true)

    public static func encode(_ bytes: [UInt8]) -> String { codec.encode(bytes) }

    /// Decodes a text; nil for anything that `encode` would not write: white space, missing padding, trailing bits that
    /// are not zero.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? { codec.decode(text) }

    public static func decode(_ text: String) -> [UInt8]? { codec.decode(text.utf8) }
}

/// Base64 for URLs and tokens, without padding (RFC 4648, section 5; RFC 7515, section 2).
public enum Base64URL {
    private static let codec = Base64Codec(last: "-_", pads: false)

    public static func encode(_ bytes: [UInt8]) -> String { codec.encode(bytes) }

    /// Decodes a text; nil for anything that `encode` would not write: padding, the other alphabet, trailing bits that
    /// are not zero.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? { codec.decode(text) }

    public static func decode(_ text: String) -> [UInt8]? { codec.decode(text.utf8) }
}

/// Base64 with either alphabet of RFC 4648. Each text has one decoding and each byte string one text, so
/// signed or compared data cannot be written in two ways (section 3.5).
struct Base64Codec: Sendable {
    private let digits: [UInt8]
    /// The value of each byte as a digit, or `none`.
    private let values: [UInt8]
    private let pads: Bool

    private static let none: UInt8 = 255
    private static let padding = UInt8(ascii: "=")

    init(last two: String, pads: Bool) {
        digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(two)".utf8)
        var values = [UInt8](repeating: Self.none, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        self.values = values
        self.pads = pads
    }

    func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= 8 * UInt32(3 - group.count)
            for offset in 0...group.count { text.append(digits[Int(bits >> (18 - 6 * UInt32(offset)) & 63)]) }
            if pads { text.append(contentsOf: repeatElement(Self.padding, count: 3 - group.count)) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var digits = Array(text)
        if pads {
            guard digits.count.isMultiple(of: 4) else { return nil }
            for _ in 0..<2 where digits.last == Self.padding { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var bits: UInt32 = 0
        var held = 0
        for digit in digits {
            let value = values[Int(digit)]
            guard value != Self.none else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            guard held >= 8 else { continue }
            held -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            bits &= (1 << UInt32(held)) - 1
        }
        return bits == 0 ? bytes : nil
    }
}

/// Base64 for URLs and tokens, without padding (RFC 4648, section 5; RFC 7515, section 2).
public enum Base64URL {
    private static let codec = Base64Codec(last: "-_", pads: false)

    public static func encode(_ bytes: [UInt8]) -> String { codec.encode(bytes) }

    /// nil for anything that `encode` would not have written: padding, the other alphabet, bits left over.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? { codec.decode(text) }

    public static func decode(_ text: String) -> [UInt8]? { codec.decode(text.utf8) }
}

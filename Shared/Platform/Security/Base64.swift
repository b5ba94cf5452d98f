/// Base64 with padding (RFC 4648, section 4).
public enum Base64 {
    private static let codec = Base64Codec(last: "+/", pads: true)

    public static func encode(_ bytes: [UInt8]) -> String { codec.encode(bytes) }

    /// nil for anything that `encode` would not have written: white space, missing padding, bits left over.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? { codec.decode(text) }

    public static func decode(_ text: String) -> [UInt8]? { codec.decode(text.utf8) }
}

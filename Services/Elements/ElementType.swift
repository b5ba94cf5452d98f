import Contracts

/// What kind of thing an element is, in a client's own words: `[a-z][a-z0-9_-]{0,31}`.
struct ElementType: Sendable, Equatable {
    let text: String

    static let maxLength = 32

    init(_ text: String) throws(ServiceError) {
        guard text.utf8.count <= Self.maxLength, let first = text.utf8.first, Self.isLetter(first),
            text.utf8.allSatisfy(Self.isAllowed)
        else {
            throw .invalid(
                "type", "has to start with a letter a-z, followed by up to 31 of a-z, 0-9, `_` and `-`")
        }
        self.text = text
    }

    init(stored text: String) { self.text = text }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: isLetter(byte)
        }
    }
}

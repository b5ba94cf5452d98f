import Contracts
import ServiceKit

/// An address that may exist. Only a message to it shows whether it does, and whose it is.
struct EmailAddress: Sendable {
    let text: String

    /// RFC 5321, section 4.5.3.1.3: a path is 256 bytes with its brackets.
    static let maxLength = 254
    /// Section 4.5.3.1.1.
    private static let maxLocalLength = 64
    /// RFC 1035, section 2.3.4.
    private static let maxLabelLength = 63

    /// A dot-atom (RFC 5322, section 3.2.3) at a host name of two labels or more, in ASCII: of letters beyond it, two that look the same or
    /// count as one would make two people's address of one. A name beyond ASCII has its `xn--` form.
    init(_ text: String) throws(ServiceError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.maxLength, parts.count == 2, Self.isLocalPart(parts[0]), Self.isHost(parts[1])
        else { throw .invalid("email", "has to be an e-mail address, in ASCII") }
        self.text = text
    }

    /// The same for all that count as one address. The standard would let the part before the `@` depend on case; no
    /// provider does, and people write their own in both.
    var key: String { text.lowercased() }

    private static func isLocalPart(_ bytes: Substring.UTF8View) -> Bool {
        bytes.count <= maxLocalLength
            && bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { atom in
                !atom.isEmpty && atom.allSatisfy { isLetterOrDigit($0) || special.contains($0) }
            }
    }

    private static func isHost(_ bytes: Substring.UTF8View) -> Bool {
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count >= 2, let last = labels.last, last.contains(where: isLetter) else { return false }
        let hyphen = UInt8(ascii: "-")
        return labels.allSatisfy { label in
            (1...maxLabelLength).contains(label.count) && label.first != hyphen && label.last != hyphen
                && label.allSatisfy { isLetterOrDigit($0) || $0 == hyphen }
        }
    }

    private static let special = Set("!#$%&'*+-/=?^_`{|}~".utf8)

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

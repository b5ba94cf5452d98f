import ParlorContracts
import ParlorServiceKit
import ParlorText

// The names and credentials of a person. Each type checks its rules in its initializer.

/// The name with which people sign in and are found: 3 to 32 of `A-Za-z0-9_.-`.
struct Username: Sendable {
    let text: String

    static let lengths = 3...32

    init(_ text: String) throws(ServiceError) {
        guard Self.lengths.contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
            throw .invalid("username", "has to have 3 to 32 of the characters A-Z, a-z, 0-9, `_`, `.` and `-`")
        }
        self.text = text
    }

    static let schema = Schema.string(lengths).noted("`A-Za-z0-9_.-`, unique regardless of case.")

    /// The key, which is equal for all spellings that count as one name.
    var key: String { text.lowercased() }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

/// A person's display name, stored as sent. It appears in lists, titles and notifications next to other people's texts.
/// So it must fit on one line, must not reorder the text around it, and must not imitate another name.
struct FirstName: Sendable {
    let text: String

    /// The limit of characters: enough for any name, and short enough for a list of rooms.
    static let maxLength = 100

    init(_ text: String) throws(ServiceError) {
        guard text.hasOnlyVisibleScalars else {
            throw .invalid("firstName", "has line breaks, invisible characters or control characters in it")
        }
        guard text.isEmpty || !text.isBlank else { throw .invalid("firstName", "has nothing that can be seen in it") }
        guard text.unicodeScalars.count <= Self.maxLength else {
            throw .invalid("firstName", "may have at most \(Self.maxLength) characters")
        }
        self.text = text
    }

    static let schema = Schema.string(0...maxLength)

    /// The key for searches.
    var key: String { text.searchKey }
}

/// An address that may exist. Only a message to it shows whether it does, and whose it is.
struct EmailAddress: Sendable {
    let text: String

    /// The length limit. By RFC 5321, section 4.5.3.1.3, a path has at most 256 bytes with its brackets.
    static let maxLength = 254
    /// The length limit of the local part (section 4.5.3.1.1).
    private static let maxLocalLength = 64
    /// The length limit of a label (RFC 1035, section 2.3.4).
    private static let maxLabelLength = 63

    /// Accepts a dot-atom (RFC 5322, section 3.2.3) at a host name of at least two labels. Only ASCII is
    /// accepted: other letters may look alike, or be equal when compared, so addresses could be confused. A
    /// host name with other letters is accepted only in its `xn--` form.
    init(_ text: String) throws(ServiceError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.maxLength, parts.count == 2, Self.isLocalPart(parts[0]), Self.isHost(parts[1])
        else { throw .invalid("email", "has to be an e-mail address, in ASCII") }
        self.text = text
    }

    /// The key, which is equal for all spellings that count as one address. The standard allows the part
    /// before the `@` to depend on case, but no provider does so, and people write their own address in both
    /// cases.
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

/// A password of 8 to 128 bytes, untrimmed. It may contain any character.
struct Password: Sendable {
    /// The text in normal form C (RFC 8265, section 4.2): each keyboard has its own way to write an é.
    let text: String

    /// The permitted lengths. The maximum keeps the cost of a hash equal for everyone. Scrypt itself reduces
    /// a password of over 64 bytes to 32.
    static let lengths = 8...128

    static func field(_ name: String) -> Field<Password> {
        // Without lengths: a schema counts characters, and these limits count bytes.
        .string(name, note: "8 to 128 bytes.") { text throws(ServiceError) in try Password(text, field: name) }
    }

    /// Returns false for a text that is too long to be anybody's password, so that no hash is computed for it. Earlier
    /// versions took the length of the text as it was sent.
    static func mayBeOne(_ text: String) -> Bool {
        text.utf8.count <= lengths.upperBound
            || (text.utf8.count <= longest && text.inNormalForm.utf8.count <= lengths.upperBound)
    }

    /// The limit of a text before it is in normal form: a letter with marks may take several times as many bytes.
    private static let longest = 8 * lengths.upperBound

    /// - Parameter field: the name of the request's field.
    init(_ text: String, field: String = "password") throws(ServiceError) {
        let normal = text.utf8.count <= Self.longest ? text.inNormalForm : text
        guard Self.lengths.contains(normal.utf8.count) else {
            throw .invalid(field, "has to have 8 to 128 bytes")
        }
        self.text = normal
    }
}

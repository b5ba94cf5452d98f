import Contracts

/// What people sign in with and are found by: 3 to 32 of `A-Za-z0-9_.-`.
struct Username: Sendable {
    let text: String

    static let lengths = 3...32

    init(_ text: String) throws(ServiceError) {
        guard Self.lengths.contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
            throw .invalid("username", "has to have 3 to 32 of the characters A-Z, a-z, 0-9, `_`, `.` and `-`")
        }
        self.text = text
    }

    /// The same for all that count as one name.
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

/// A counter of consecutive combining marks, for text from outside.
///
/// `String` compares and hashes in normal form. For that it sorts each run of marks, in a time quadratic in the run's
/// length. 50 KB of marks, alternating between two classes, took 250 ms to hash, and 400 KB took 31 s. With runs of at
/// most `maxInARow`, a text costs as much as one of the same length without marks, give or take a third.
public struct CombiningMarks: Sendable {
    /// The limit of marks in a row. Unicode's Stream-Safe Text Format allows 30, which is more than
    /// any language needs (UAX #15, section 13). Texts that pile up marks for fun have some more.
    public static let maxInARow = 128

    @usableFromInline internal var count = 0

    @inlinable public init() {}

    /// Counts the next scalar of a text.
    ///
    /// - Returns: false if the limit is exceeded.
    @inlinable
    public mutating func accept(_ scalar: UInt32) -> Bool {
        guard Self.mayBeMark(scalar), Self.isMark(scalar) else {
            count = 0
            return true
        }
        count += 1
        return count <= Self.maxInARow
    }

    /// Resets the run, as the next character is no mark, for example ASCII.
    @inlinable public mutating func reset() { count = 0 }

    /// Returns true if no run in a text is longer than `maxInARow`.
    public static func areFew(in text: String) -> Bool {
        // The shortest mark has two bytes.
        if text.utf8.count <= 2 * maxInARow { return true }
        var marks = CombiningMarks()
        return text.unicodeScalars.allSatisfy { marks.accept($0.value) }
    }

    /// Returns false for most common text, which then needs no lookup: Latin, Greek and Cyrillic; Chinese,
    /// Japanese and Korean; emoji.
    @inlinable
    static func mayBeMark(_ scalar: UInt32) -> Bool {
        switch scalar {
        case ..<0x300, 0x370..<0x483, 0x3100..<0xA66F, 0xAC00..<0xFB1E, 0x1F000...: false
        default: true
        }
    }

    /// Returns true if normal forms sort the scalar, as its combining class is not 0.
    @usableFromInline
    static func isMark(_ scalar: UInt32) -> Bool {
        Unicode.Scalar(scalar).map { $0.properties.canonicalCombiningClass != .notReordered } ?? false
    }
}

import Glibc

/// Lines are read through spans: checked as arrays are, but without counting references at every step, which made up
/// most of the time that a request took.
extension Span<UInt8> {
    func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        guard start < count else { return nil }
        return withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = memchr(base + start, Int32(byte), bytes.count - start)
            else {
                return nil
            }
            return UnsafeRawPointer(found) - base
        }
    }

    /// Looks at every byte, also behind one that does not belong: without a way out the loop is vectorised, and nearly
    /// every byte that comes here belongs.
    @inline(__always) func allSatisfy(in range: Range<Int>, _ belongs: (UInt8) -> Bool) -> Bool {
        extracting(range).withUnsafeBufferPointer { bytes in
            var all = true
            for byte in bytes { all = belongs(byte) && all }
            return all
        }
    }

    @inline(__always) func allSatisfy(_ belongs: (UInt8) -> Bool) -> Bool { allSatisfy(in: 0..<count, belongs) }

    /// A range without the white space (`OWS`) at its ends.
    func trimming(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isBlank { start += 1 }
        while start < end, self[end - 1].isBlank { end -= 1 }
        return start..<end
    }

    /// True if the bytes of a range are an ASCII text, in upper or lower case.
    func equals(_ text: String, ignoringCaseIn range: Range<Int>) -> Bool {
        let wanted = text.utf8
        guard range.count == wanted.count else { return false }
        var at = range.lowerBound
        for byte in wanted {
            if self[at].lowercased != byte.lowercased { return false }
            at += 1
        }
        return true
    }

    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}

/// The classes of bytes in HTTP's grammar (RFC 9110, section 5; RFC 9112, section 3).
extension UInt8 {
    /// `tchar`: letters, digits and ``!#$%&'*+-.^_`|~``. One bit a byte value, so that a test is a shift.
    @inline(__always) var isTokenByte: Bool {
        guard self < 128 else { return false }
        let bits: UInt64 = self < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return (bits >> UInt64(self & 63)) & 1 == 1
    }

    /// What may stand in a field's value: tabs, spaces, visible characters and bytes from 0x80 (`obs-text`).
    @inline(__always) var isFieldValueByte: Bool { (self >= 0x20 && self != 0x7F) || self == UInt8(ascii: "\t") }

    /// `OWS`: white space that may surround a value.
    @inline(__always) var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// Visible ASCII, but not the `#` of a fragment. Browsers leave `|`, `{` or `"` unescaped, which RFC 3986 forbids
    /// but nobody reads in two ways, so these are let through.
    @inline(__always) var isTargetByte: Bool { self > 0x20 && self < 0x7F && self != UInt8(ascii: "#") }

    @inline(__always) var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    @inline(__always) var isLetter: Bool { lowercased >= UInt8(ascii: "a") && lowercased <= UInt8(ascii: "z") }

    /// ASCII letters only: names in HTTP know no other.
    @inline(__always) var lowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

    var hexDigit: UInt8? {
        switch lowercased {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): lowercased - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

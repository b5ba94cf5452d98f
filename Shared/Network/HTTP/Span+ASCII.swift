import Glibc

/// Functions to read lines through spans. Spans check bounds as arrays do, but count no references. With arrays,
/// reference counting took most of the time of a request.
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

    /// Returns true if all bytes of a range satisfy the predicate. It reads every byte, also after one that fails:
    /// without an early exit the loop is vectorised, and nearly all input is valid.
    @inline(__always) func allSatisfy(in range: Range<Int>, _ belongs: (UInt8) -> Bool) -> Bool {
        extracting(range).withUnsafeBufferPointer { bytes in
            var all = true
            for byte in bytes { all = belongs(byte) && all }
            return all
        }
    }

    @inline(__always) func allSatisfy(_ belongs: (UInt8) -> Bool) -> Bool { allSatisfy(in: 0..<count, belongs) }

    /// Returns a range without the white space (`OWS`) at its ends.
    func trimming(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isBlank { start += 1 }
        while start < end, self[end - 1].isBlank { end -= 1 }
        return start..<end
    }

    /// Returns true if the bytes of a range equal this ASCII text, without regard to case.
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
    /// True for a `tchar`: letters, digits and ``!#$%&'*+-.^_`|~``. The table has one bit for each byte
    /// value, so a test is a shift.
    @inline(__always) var isTokenByte: Bool {
        guard self < 128 else { return false }
        let bits: UInt64 = self < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return (bits >> UInt64(self & 63)) & 1 == 1
    }

    /// True for bytes that may occur in a field's value: tabs, spaces, visible characters and bytes from 0x80
    /// (`obs-text`).
    @inline(__always) var isFieldValueByte: Bool { (self >= 0x20 && self != 0x7F) || self == UInt8(ascii: "\t") }

    /// True for `OWS`, the white space that may surround a value.
    @inline(__always) var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// True for visible ASCII except the `#` of a fragment. Browsers leave `|`, `{` or `"` unescaped; RFC
    /// 3986 forbids it, but no server reads them differently, so they are accepted.
    @inline(__always) var isTargetByte: Bool { self > 0x20 && self < 0x7F && self != UInt8(ascii: "#") }

    @inline(__always) var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    @inline(__always) var isLetter: Bool { lowercased >= UInt8(ascii: "a") && lowercased <= UInt8(ascii: "z") }

    /// The lower-case form of an ASCII letter, or the byte itself: HTTP's names have no other letters.
    @inline(__always) var lowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

    var hexDigit: UInt8? {
        switch lowercased {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): lowercased - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

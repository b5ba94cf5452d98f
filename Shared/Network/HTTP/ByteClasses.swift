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
